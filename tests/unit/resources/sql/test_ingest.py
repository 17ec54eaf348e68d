"""Records to visits: what is used, what is rejected, and that files may be split and shuffled at will."""

import gzip
import random
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from elsewhere import week_file
from ingested import ANTENNAS, WEEK, rows, stored

from density_assets.calendar import week_clock
from density_assets.settings import EngineSettings
from density_assets.settings.city import CitySettings
from resources.sql import ingest
from resources.sql.duckdb_engine import DuckdbEngine
from resources.tables.store import Store


def csv(store: Store, *lines: str, name: str = "r.csv") -> Path:
    file = store.folder / name
    file.write_text("\n".join(["user_id,time,tower_id", *lines]) + "\n")
    return file


def test_events_of_one_hour_at_one_site_are_one_visit(store):
    lines = ["ann,2007-09-10 08:00:00,A", "ann,2007-09-10 08:59:59,A", "ann,2007-09-10 09:00:00,A"]
    assert stored(store, [csv(store, *lines)]) == {}
    assert rows(store) == {("ann", 8, "A"), ("ann", 9, "A")}


def test_antennas_of_one_site_are_merged_before_deduplication(store):
    lines = [f"ann,2007-09-10 {hour:02}:10:00,{antenna}" for hour in range(10) for antenna in ("A", "A2", "A3")]
    stored(store, [csv(store, *lines)])
    assert rows(store) == {("ann", hour, "A") for hour in range(10)}


@pytest.mark.parametrize(
    "time",
    [
        "2007-09-11 08:15:00",
        "2007-09-11T08:15:00.250",
        "2007-09-11T08:15:00+02:00",
        "2007-09-11 06:15:00+00",
        "2007-09-11T06:15:00Z",
        "2007-09-10T22:15:00-0800",
        "1189491300",
        "1189491300000",
    ],
)
def test_times_with_and_without_zone_fall_in_the_same_local_hour(store, time):
    assert stored(store, [csv(store, f"ann,{time},A")]) == {}
    assert rows(store) == {("ann", 32, "A")}


@pytest.mark.parametrize(
    "moments",
    [
        pl.Series(["2007-09-11T08:15"]).str.to_datetime(),
        pl.Series(["2007-09-11T08:15"]).str.to_datetime().dt.replace_time_zone("Europe/Paris"),
        pl.Series([1189491300]),
        pl.Series([1189491300.5]),
        pl.Series(["2007-09-11T08:15:00"]),
    ],
)
def test_parquet_times_keep_their_type(store, moments):
    file = store.folder / "r.parquet"
    pl.DataFrame({"user_id": [7], "time": moments, "tower_id": ["A"]}).write_parquet(file)
    assert stored(store, [file]) == {}
    assert rows(store) == {(7, 32, "A")}


def test_the_hour_that_happens_twice_is_one_slot(store):
    autumn = date(2007, 10, 22)
    lines = ["ann,2007-10-28T00:30:00Z,A", "ann,2007-10-28T01:30:00Z,A", "ann,2007-10-28T02:30:00Z,A"]
    stored(store, [csv(store, *lines)], week=autumn)
    assert rows(store, autumn) == {("ann", 146, "A"), ("ann", 147, "A")}


def test_records_that_cannot_be_used_are_counted_by_reason(store):
    lines = [
        "ann,2007-09-10 08:00:00,A",
        ",2007-09-10 08:00:00,A",
        "bob,yesterday,A",
        "bob,,A",
        "bob,2007-09-09 23:59:59,A",
        "bob,2007-09-17 00:00:00,A",
        "bob,2007-09-10 08:00:00,Z",
        "bob,2007-09-10 08:00:00,",
    ]
    assert stored(store, [csv(store, *lines)]) == {
        "no user": 1,
        "outside the week": 2,
        "time not readable": 2,
        "unknown tower": 2,
    }
    assert rows(store) == {("ann", 8, "A")}


def test_whoever_watches_hears_that_most_records_cannot_be_used(store):
    clock, heard = week_clock(WEEK, ZoneInfo("Europe/Paris")), []
    lines = ["ann,2007-09-10 08:00:00,A"] * 2 + ["bob,noon,A"] * 3
    DuckdbEngine(store, EngineSettings()).ingest(clock, [csv(store, *lines)], CitySettings(), heard.append)
    (warning,) = (line for line in heard if "most records must be usable, 2 of 5 are (3 time not readable)" in line)
    assert warning.endswith("confidential/about/visits/2007-09-10.json")


def test_files_may_be_split_and_shuffled_and_staged_in_parts(tmp_path, monkeypatch):
    rng = random.Random(1)
    times = [f"2007-09-{rng.randrange(10, 17)} {rng.randrange(24):02}:00:00" for _ in range(5_000)]
    lines = [f"u{rng.randrange(300)},{time},{rng.choice(['A', 'A2', 'B'])}" for time in times]
    written = []
    for i, pieces in enumerate((1, 3)):
        store = Store(tmp_path, f"town{i}")
        store.write_public("antennas", ANTENNAS)
        rng.shuffle(lines)
        files = [csv(store, *lines[k::pieces], name=f"r{k}.csv") for k in range(pieces)]
        monkeypatch.setattr(ingest, "BYTES_PER_PART", 50_000 if i else 10**9)
        stored(store, files)
        written.append(week_file(store, "visits", WEEK).read_bytes())
        visits = store.read_week("visits", WEEK)
        assert visits.equals(visits.sort("user_key", "user_id", "hour", "tower_id"))
    assert pl.read_parquet(written[0]).equals(pl.read_parquet(written[1]))


def test_an_empty_week_is_a_week(store):
    assert stored(store, [csv(store)]) == {}
    assert rows(store) == set()
    assert stored(store, []) == {}
    assert store.read_week("visits", WEEK).columns == ["user_id", "hour", "tower_id", "user_key"]


def test_identifiers_stay_exact_text(store):
    stored(store, [csv(store, "007,2007-09-10 08:00:00,A", "7,2007-09-10 08:00:00,A")])
    assert rows(store) == {("007", 8, "A"), ("7", 8, "A")}


def test_a_broken_line_is_rejected_alone(store):
    """Quotes that do not close, fields too many or too few: the lines around them are read as if it were not there."""
    good = [f"user{i},2007-09-10 08:00:00,A" for i in range(5_000)]
    odd = ['"z"y,2007-09-10 08:00:00,A', '"open,2007-09-10 08:00:00,A', "a,b,c,d,e", "lonely"]
    plain = csv(store, *good)
    assert stored(store, [plain]) == {}
    before = {row for row in rows(store) if row[0].startswith("user")}
    assert stored(store, [csv(store, *good[:2_500], *odd, *good[2_500:])]) == {"no user": 2}
    assert {row for row in rows(store) if row[0].startswith("user")} == before
    assert {row[0] for row in rows(store)} >= {'"z"y', '"open'}


TIME_AND_TOWER = b",2007-09-10 08:00:00,A"


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("place", [0, 50])
@pytest.mark.parametrize(
    ("line", "read", "rejected"),
    [
        (b"odd" + TIME_AND_TOWER + b"\r", {"odd"}, {}),
        (b"\r\rodd" + TIME_AND_TOWER, {"odd"}, {}),
        (b"o\rdd" + TIME_AND_TOWER, {"dd"}, {"no user": 1}),
        (b"odd" + TIME_AND_TOWER + b",surplus", set(), {"no user": 1}),
        (b'"odd' + TIME_AND_TOWER, {'"odd'}, {}),
        (b"\x00", set(), {"no user": 1}),
        (b"odd\xe9" + TIME_AND_TOWER, set(), {"line not readable": 1}),
        (b"odd\xf4\x8f\xbf" + TIME_AND_TOWER, set(), {"line not readable": 1}),
        (b"o" * 3_000_000 + TIME_AND_TOWER, set(), {"line not readable": 1}),
        (b"\xff" * 9_000_000, set(), {"line not readable": 1}),
        (b"o" * 40_000_000, set(), {"line not readable": 1}),  # longer than any buffer of the database
    ],
    ids=lambda value: repr(value)[:20],
)
def test_no_line_stops_the_week_or_changes_another(store, line, read, rejected, place, end):
    """Bare carriage returns, other line ends, what is no UTF-8, endless lines: also right after the first line."""
    good = [b"user%d" % i + TIME_AND_TOWER for i in range(100)]
    file = store.folder / "r.csv"
    file.write_bytes(end.join([b"user_id,time,tower_id", *good[:place], line, *good[place:]]) + end)
    assert stored(store, [file]) == rejected
    assert {row[0] for row in rows(store)} == {f"user{i}" for i in range(100)} | read


def test_no_line_of_a_compressed_file_is_lost_uncounted(store):
    good = [b"user%d" % i + TIME_AND_TOWER for i in range(100)]
    file = store.folder / "r.csv.gz"
    odd = [b"o" * 40_000_000 + TIME_AND_TOWER, b"odd\xe9" + TIME_AND_TOWER]
    file.write_bytes(gzip.compress(b"\n".join([b"user_id,time,tower_id", *good[:50], *odd, *good[50:]]), 1))
    assert stored(store, [file]) == {"line not readable": 2}
    assert {row[0] for row in rows(store)} == {f"user{i}" for i in range(100)}


@pytest.mark.parametrize("other", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_a_line_may_end_in_its_own_way(store, end, other):
    lines = [b"user%d" % i + TIME_AND_TOWER for i in range(9)]
    file = store.folder / "r.csv"
    file.write_bytes(
        b"user_id,time,tower_id"
        + end
        + b"".join(line + mark for line, mark in zip(lines, [end, end, other] * 3, strict=True))
    )
    assert stored(store, [file]) == {}
    assert rows(store) == {(f"user{i}", 8, "A") for i in range(9)}


@pytest.mark.parametrize("time", ["-infinity", "999999e300", "1e30", "nan", "99999999999999999999"])
def test_an_impossible_time_is_not_readable_and_stops_nobody(store, time):
    rejected = stored(store, [csv(store, f"ann,{time},A", "bob,2007-09-10 08:00:00,A")])
    assert sum(rejected.values()) == 1
    assert rows(store) == {("bob", 8, "A")}


@pytest.mark.parametrize("time", [float("nan"), float("inf"), 1e300])
def test_an_impossible_number_is_not_readable_and_stops_nobody(store, time):
    file = store.folder / "r.parquet"
    pl.DataFrame({"user_id": [1, 2], "time": [time, 1189404900.0], "tower_id": ["A", "A"]}).write_parquet(file)
    rejected = stored(store, [file])
    assert sum(rejected.values()) == 1
    assert rows(store) == {(2, 8, "A")}
