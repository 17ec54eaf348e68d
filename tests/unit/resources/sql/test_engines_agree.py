"""Equal records, equal tables: whatever runs the SQL, and wherever its weeks are kept."""

import hashlib
from datetime import UTC, date, datetime
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engines import (
    AUTUMN,
    SETTINGS,
    SPRING,
    WEEK,
    ZONE,
    assert_agree,
    moments,
    needs_java,
    some_records,
    store_at,
    towers,
    write,
)

from density_assets.calendar import week_clock
from density_assets.settings.city import CitySettings
from resources.sql import spark_session
from resources.sql.duckdb_engine import DuckdbEngine
from resources.sql.engine import IN_DUCKDB, IN_SPARK, KEYS
from resources.sql.spark_engine import SparkEngine


def assert_read_alike(folder: Path, week: date, files: list[Path], **how: object) -> tuple[set[tuple], dict[str, int]]:
    """Which visits are stored of files, and what is left out by reason: the same by both engines."""
    found = []
    city = CitySettings.model_construct(**how)
    for name, engine in (("duckdb", DuckdbEngine), ("spark", SparkEngine)):
        store = store_at(folder / name, None if name == "duckdb" else str(folder / "weeks"))
        rejected = engine(store, SETTINGS).ingest(week_clock(week, ZONE), files, city, lambda _: None)
        found.append((set(store.read_week("visits", week).select("user_id", "hour", "tower_id").rows()), rejected))
    assert found[0] == found[1]
    return found[0]


ODD_TIMES = [float("nan"), float("inf"), -float("inf"), 1e300, -1e300, 9.2e18, 1e11, 1e11 - 1, 0.0, None]
ODD_NUMBERS = [2**63 - 1, -(2**63), 10**11, 10**14, -1, 0, None]
ODD_USERS = ["", " ", "é", "e\u0301", "a\0b", "1", "01", "1.0", "NULL", "\U0001f600" * 50, "x" * 10_000, "'; --", None]


def hostile_files(folder: Path, week: date) -> list[Path]:
    """Every kind of column that both engines read, with values that nobody expects, one file for each kind of time."""
    rng, size = np.random.default_rng(week.toordinal()), 400
    users = pa.array(rng.choice([*ODD_USERS, *(f"user{number}" for number in range(40))], size), pa.string())
    seconds = moments(week, size, rng)
    odd = rng.random(size) < 0.05
    numbers = [ODD_NUMBERS[i % len(ODD_NUMBERS)] if odd[i] else int(seconds[i]) for i in range(size)]
    doubles = [ODD_TIMES[i % len(ODD_TIMES)] if odd[i] else seconds[i] + 0.25 for i in range(size)]
    raw = pa.array(numbers, pa.int64())
    fine = [n if n is None or abs(n) > 10**10 else n * 10**9 + 999 for n in numbers]
    places = towers(size, rng)
    kinds = {
        "seconds": raw,
        "milliseconds": pa.array(seconds * 1_000 + 999),
        "doubles": pa.array(doubles, pa.float64()),
        "unsigned": pa.array([None if n is None or n < 0 else n for n in numbers], pa.uint64()),
        "small": pa.array(seconds.astype(np.int32)),
        "timestamp_ms": pa.array([n if n is None or abs(n) > 10**10 else n * 1_000 for n in numbers]).cast(
            pa.timestamp("ms", "UTC")
        ),
        "timestamp_us": pa.array([n if n is None or abs(n) > 10**10 else n * 10**6 - 1 for n in numbers]).cast(
            pa.timestamp("us")
        ),
        "timestamp_ns": pa.array(fine, pa.int64()).cast(pa.timestamp("ns", "Europe/Paris")),
        "wall_ns": pa.array(fine, pa.int64()).cast(pa.timestamp("ns")),
        "date": pa.array((seconds // 86_400).astype(np.int32)).cast(pa.date32()),
    }
    files = [write(folder / f"{week}_{name}.parquet", users, times, places) for name, times in kinds.items()]
    coded = users.dictionary_encode()
    files.append(write(folder / f"{week}_dictionary.parquet", coded, raw, places.dictionary_encode()))
    floats = pa.array(rng.choice([12.0, -3.0, 0.0, 0.5, 11.5, float("nan"), 1e300], size))
    files.append(write(folder / f"{week}_float_towers.parquet", users, raw, floats))
    decimals = pa.array(["1.50", "12.00", None, "0.00"] * (size // 4)).cast(pa.decimal128(12, 2))
    files.append(write(folder / f"{week}_decimal_towers.parquet", users, raw, decimals))
    none = pa.nulls(size)
    everything = {"users": (none, raw, places), "times": (users, none, places), "towers": (users, raw, none)}
    files += [write(folder / f"{week}_no_{name}.parquet", *columns) for name, columns in everything.items()]
    half = pa.array([float("nan"), 1.5, 2.0**53, -7.0, 1e300, 12.0, float("inf"), None] * (size // 8))
    files.append(write(folder / f"{week}_float_users.parquet", half, raw, places))
    many = pa.array(["1.5", "12", "99999999999999999999", "-7", None] * (size // 5)).cast(pa.decimal128(38, 10))
    files.append(write(folder / f"{week}_decimal_users.parquet", many, many.cast(pa.decimal128(38, 2)), places))
    broken = pa.array([b"ok", b"\xff\xfe", b"\xc3\x28"] * (size // 4), pa.binary()).cast(pa.string(), safe=False)
    files.append(write(folder / f"{week}_broken.parquet", broken, raw[: len(broken)], places[: len(broken)]))
    return files


@needs_java
@pytest.mark.parametrize("week", [WEEK, AUTUMN, SPRING], ids=["plain", "autumn", "spring"])
def test_hostile_records_give_the_same_tables(tmp_path, week):
    said = assert_agree(tmp_path, week, hostile_files(tmp_path, week))
    skipped = {"hour that does not exist"} if week == SPRING else set()
    assert said["rejected"].keys() == {"no user", "time not readable", "outside the week", "unknown tower"} | skipped
    assert len(said["visits"]) > 1_000


@needs_java
@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64()], ids=str)
def test_numbers_of_users_stay_numbers_and_those_beyond_are_text(tmp_path, kind):
    rng, size = np.random.default_rng(5), 3_000
    users = rng.integers(0, 100, size).astype(np.uint64)
    users[:50] += np.uint64(2**63 - 160 if kind == pa.int64() else 2**64 - 160)
    records = write(
        tmp_path / "r.parquet", pa.array(users).cast(kind), pa.array(moments(WEEK, size, rng)), towers(size, rng)
    )
    said = assert_agree(tmp_path, WEEK, [records])
    assert said["visits"].schema["user_id"] == (pl.Int64 if kind == pa.int64() else pl.String)


ODD_STAMPS = [20070911081500, 20071311081500, 20070911240000, 20070911086000, 10000000000000, 99999999999999]


@needs_java
def test_numbers_of_every_size_are_the_same_times(tmp_path):
    numbers = [
        *ODD_STAMPS,
        *(1189491300 * 10**power for power in (0, 3, 6, 9)),
        *(n for n in ODD_NUMBERS if n is not None),
    ]
    users = pa.array(range(2 * len(numbers)))
    whole, real = pa.array(numbers), pa.array([float(n) for n in numbers])
    places = pa.array(["A"] * len(numbers))
    files = [
        write(tmp_path / "whole.parquet", users[: len(numbers)], whole, places),
        write(tmp_path / "real.parquet", users[len(numbers) :], real, places),
    ]
    visits, rejected = assert_read_alike(tmp_path, WEEK, files)
    assert sorted(user % len(numbers) for user, *_ in visits) == sorted([0, 6, 7, 8, 9] * 2)
    assert rejected["time not readable"] >= 6


@needs_java
def test_the_last_days_that_files_can_hold_are_left_out_for_the_same_reason(tmp_path):
    days = pa.array([2**31 - 1, -(2**31), 10**9, 10**6, -719_162, 13_767, None], pa.int32()).cast(pa.date32())
    file = write(tmp_path / "r.parquet", pa.array(range(len(days))), days, pa.array(["A"] * len(days)))
    visits, rejected = assert_read_alike(tmp_path, WEEK, [file])
    assert {user for user, *_ in visits} == {5}
    assert rejected == {"time not readable": 4, "outside the week": 2}


@needs_java
@pytest.mark.parametrize("kind", [pa.binary(), pa.binary(2)], ids=str)
def test_bytes_are_the_same_people(tmp_path, kind):
    users = pa.array([b"\x00\xff", b"\x10\xab", None], kind)
    file = write(tmp_path / "r.parquet", users, pa.array([1189491300] * 3), pa.array(["A"] * 3))
    visits, rejected = assert_read_alike(tmp_path, WEEK, [file])
    assert ({user for user, *_ in visits}, rejected) == ({"00FF", "10AB"}, {"no user": 1})


@needs_java
@pytest.mark.parametrize("form", ["trimmed", "digits only"])
def test_spellings_are_the_same_people(tmp_path, form):
    users = pa.array(["+33 6", " 336\t", "\u00a0x1\u00a0", "é", "'", "\\", *ODD_USERS])
    file = write(tmp_path / "r.parquet", users, pa.array([1189491300] * len(users)), pa.array(["A"] * len(users)))
    visits, _ = assert_read_alike(tmp_path, WEEK, [file], user_form=form)
    assert {"336"} <= {user for user, *_ in visits}


@needs_java
@pytest.mark.parametrize("zone", ["UTC", "America/St_Johns"])
@pytest.mark.parametrize("week", [WEEK, AUTUMN, SPRING], ids=["plain", "autumn", "spring"])
def test_times_of_another_zone_are_the_same_hours(tmp_path, week, zone):
    monday = int(datetime(week.year, week.month, week.day, tzinfo=UTC).timestamp())
    walls = pa.array([(monday + 600 * i) * 10**6 for i in range(-200, 1_200)]).cast(pa.timestamp("us"))
    file = write(tmp_path / "r.parquet", pa.array(range(len(walls))), walls, pa.array(["A"] * len(walls)))
    visits, rejected = assert_read_alike(tmp_path, week, [file], visit_timezone=zone)
    assert len(visits) > 900
    assert rejected["outside the week"] > 100


@needs_java
def test_the_same_records_are_left_out_by_a_filter(tmp_path):
    odd = 'it\'s \\ "odd"'
    table = {
        "user_id": [1, 2, 3, 4, 5],
        "time": [1189491300] * 5,
        "tower_id": ["A", "far", "A", "A", "nowhere"],
        "domain": pa.array([odd, odd, "x", None, odd]),
        "flag": pa.array([0, 0, 0, 0, 0], pa.int8()),
        "real": [0.5, 0.5, 0.5, 0.5, 0.5],
        "sure": [True, True, True, True, True],
        "counted": [True, True, True, True, True],
        "measured": [1.0, 1.0, 1.0, 1.0, 1.0],
    }
    pq.write_table(pa.table(table), tmp_path / "r.parquet")
    where = {"domain": odd, "flag": 0, "real": 0.5, "sure": True, "counted": 1, "measured": True}
    visits, rejected = assert_read_alike(tmp_path, WEEK, [tmp_path / "r.parquet"], visit_where=where)
    assert {user for user, *_ in visits} == {1}
    assert rejected == {"left out by visit_where": 2, "tower outside the city": 1, "unknown tower": 1}


WORDS = ["1", " 1", "1\n", "1.0", "+1e0", "true", "T", "y ", "1d", "1_0", "0x1p0", "\u00a01", "1\x1f", "x", "0", None]


@needs_java
@pytest.mark.parametrize(("value", "passing"), [(1, {0, 1, 2, 3, 4}), (True, {0, 5, 6})])
def test_text_is_the_same_number_and_the_same_truth_value(tmp_path, value, passing):
    count = len(WORDS)
    columns = {"user_id": range(count), "time": [1189491300] * count, "tower_id": ["A"] * count, "word": WORDS}
    pq.write_table(pa.table(columns), tmp_path / "r.parquet")
    visits, _ = assert_read_alike(tmp_path, WEEK, [tmp_path / "r.parquet"], visit_where={"word": value})
    assert {user for user, *_ in visits} == passing


@needs_java
def test_one_user_with_a_million_events(tmp_path):
    rng, size = np.random.default_rng(6), 1_000_000
    users = np.where(np.arange(size) % 1_000 == 0, rng.integers(1, 300, size), 0)
    said = assert_agree(tmp_path, WEEK, [some_records(tmp_path / "r.parquet", users, rng)])
    assert said["visits"].filter(user_id=0).height == 4 * 168


@needs_java
def test_an_empty_week_has_tables_of_nobody(tmp_path):
    said = assert_agree(tmp_path, WEEK, [])
    assert said["visits"].is_empty()
    assert said["tower_series"]["original"].sum() == 0


@needs_java
def test_keys_of_users_are_remainders_of_their_md5(tmp_path):
    identifiers = [*(user for user in ODD_USERS if user), *map(str, range(2_000))]
    wanted = [int.from_bytes(hashlib.md5(text.encode()).digest(), "little") % KEYS for text in identifiers]
    with duckdb.connect() as connection:
        connection.execute(IN_DUCKDB)
        connection.register("them", pa.table({"identifier": identifiers}))
        assert [key for (key,) in connection.sql("select user_key(identifier) from them").fetchall()] == wanted
    session = spark_session.spark_session(SETTINGS, tmp_path, lambda _: None)
    session.sql(IN_SPARK)
    session.createDataFrame(pa.table({"identifier": identifiers})).createOrReplaceTempView("them")
    assert [key for (key,) in session.sql("select user_key(identifier) from them").collect()] == wanted
