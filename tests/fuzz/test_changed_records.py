"""Files of visits changed at random: the week is read and every record is accounted for, or the file is refused.

Every user, time and tower holds a text that occurs nowhere else, and no message repeats it.
"""

import gzip
import random
import re
from collections import Counter
from datetime import date
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spoiled_files import FIELDS, raw_exceptions, spoiled_bytes, spoiled_lines

from density_assets.calendar import week_clock
from density_assets.errors import BadInput
from density_assets.records.description import describe
from density_assets.settings import EngineSettings
from density_assets.settings.city import CitySettings
from resources.sql.duckdb_engine import DuckdbEngine
from resources.sql.ingest import events, unquoted
from resources.tables.store import Store

CITY = CitySettings.model_construct(visit_user="user_id", visit_time="time", visit_tower="tower_id")
PACKINGS = [
    ("", bytes),
    ("", bytes),
    (".gz", lambda content: gzip.compress(content, mtime=0)),
    (".zst", lambda content: pa.Codec("zstd").compress(content, asbytes=True)),
]
CLOCK = week_clock(date(2007, 9, 10), ZoneInfo("Europe/Paris"))
ANTENNAS = pl.DataFrame({"antenna_id": ["A", "B"], "tower_id": ["A", "B"]})
SECRET = "zq7x"
LINES = "".join(f"{SECRET}{i % 7},2007-09-1{i % 7} {i % 24:02}:10:00,{'AB'[i % 2]}\n" for i in range(40))
CSV = f"user_id,time,tower_id\n{LINES}".encode()
APART = "".join(f'"{SECRET};{i % 7}";2007091{i % 7};{i % 24:02}1000;{"AB"[i % 2]};"x; ""y"\n' for i in range(40))
CSV_APART = f"user_id;day;time;tower_id;more\n{APART}".encode()
HOWS = [
    {},
    {"user_form": "trimmed"},
    {"user_form": "digits only", "visit_timezone": "UTC"},
    {"visit_where": {"time": 0}},
    {"visit_where": {"tower_id": "A"}, "visit_timezone": "America/St_Johns"},
    {"visit_time_format": "%Y-%m-%d %H:%M:%S"},
]
APART_HOWS = [{"visit_date": "day", **how} for how in (*HOWS[:5], {"visit_time_format": "%Y%m%d %H%M%S"})]
ROWS = 20
INTEGERS = [0, 1, -1, 2**31, 2**62, -(2**63), 2**63 - 1, 1189404900, 1189404900000]
FLOATS = [0.0, -0.0, float("nan"), float("inf"), float("-inf"), 1e300, 1189404900.5, 12.0]
NO_TEXT = [SECRET.encode() + b"\xff", b"\xed\xa0\x80", b"\xc0\x80"]
TEXTS = [f"{SECRET}{field}".encode() for field in FIELDS] + NO_TEXT + [b""]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("home"), "town")
    store.write_public("antennas", ANTENNAS)
    return store


def read_by(**how: object) -> CitySettings:
    return CitySettings.model_construct(timezone="Europe/Paris", **how)


def counted(file: Path, city: CitySettings) -> int:
    """How many records a file has, those that are left out included."""
    reasons: Counter[str] = Counter()
    with duckdb.connect() as connection, unquoted(file.parent):
        connection.execute("set threads = 1")
        found = events(connection, ANTENNAS, CLOCK, [file], city, reasons)
        every = found.aggregate("count(*), count(user_key), count(hour), count(tower_id), count(rejection)")
        return int(every.fetchall()[0][0]) + reasons.total()


def without_quotes(file: Path, store: Store, rng: random.Random, city: CitySettings = CITY) -> int | None:
    """The number of records; none if the file was stored, which one of some is. An error must not quote a record."""
    try:
        if rng.randrange(8):
            return counted(file, city)
        DuckdbEngine(store, EngineSettings(threads=1)).ingest(CLOCK, [file], city, lambda _: None)
    except BadInput as error:
        if SECRET in str(error):
            raise AssertionError("a record is quoted") from None
        raise
    return None


@pytest.mark.parametrize(
    "seeds", [range(150), pytest.param(range(150, 5_000), marks=pytest.mark.nightly)], ids=["some", "many"]
)
def test_every_line_of_a_changed_csv_is_accounted_for(store, tmp_path, seeds):
    used = []

    def attempt(rng):
        plain, hows = rng.choice([(CSV, HOWS), (CSV_APART, APART_HOWS)])
        content = rng.choice([spoiled_lines, spoiled_bytes])(plain, rng)
        if rng.randrange(4) == 0:
            content = content.replace(b"\n", rng.choice([b"\r", b"\r\n"]))
        ending, packed = rng.choice(PACKINGS)
        file = tmp_path / f"r.csv{ending}"
        file.write_bytes(packed(content))
        found = without_quotes(file, store, rng, read_by(**rng.choice(hows)))
        lines = [line for line in re.split(rb"[\r\n]", content) if line]
        assert found in (None, len(lines) - 1)
        used.append(file)

    assert raw_exceptions(seeds, attempt) == {}
    assert len(used) > len(seeds) // 2


def test_what_is_said_of_a_changed_file_names_nobody(store, tmp_path):
    def attempt(rng):
        plain = rng.choice([CSV, CSV_APART])
        file = tmp_path / "r.csv"
        file.write_bytes(rng.choice([spoiled_lines, spoiled_bytes])(plain, rng))
        said = describe(file, CITY)
        assert said.sampled >= said.unreadable + len(said.rows)
        for row in said.rows:
            plain_columns = {said.roles.get(role) for role in ("date", "time", "tower")}
            assert not [name for name, value in row.items() if SECRET in value and name not in plain_columns]

    assert raw_exceptions(range(150), attempt) == {}


@pytest.mark.parametrize(
    "seeds", [range(50), pytest.param(range(50, 2_000), marks=pytest.mark.nightly)], ids=["some", "many"]
)
def test_a_damaged_compressed_file_is_read_whole_or_refused(store, tmp_path, seeds):
    whole = gzip.compress(CSV, mtime=0)

    def attempt(rng):
        (tmp_path / "r.csv.gz").write_bytes(spoiled_bytes(whole, rng))
        assert without_quotes(tmp_path / "r.csv.gz", store, rng) in (None, 40)

    assert raw_exceptions(seeds, attempt) == {}


def text(rng: random.Random) -> pa.Array:
    """Text that nobody has looked at, in one of the ways that Arrow keeps it."""
    raw = pa.array(rng.choices(TEXTS, k=ROWS), pa.large_binary())
    large = pa.Array.from_buffers(pa.large_string(), ROWS, raw.buffers())
    return rng.choice([large, large.cast(pa.string()), large.dictionary_encode(), large.cast(pa.string_view())])


def times(rng: random.Random) -> pa.Array:
    kind = pa.timestamp(rng.choice(["ms", "us", "ns"]), rng.choice([None, "UTC", "Asia/Tokyo"]))
    return pa.array(rng.choices(INTEGERS, k=ROWS), pa.int64()).cast(kind)


def days(rng: random.Random) -> pa.Array:
    return pa.array(rng.choices([0, 2**31 - 1, -(2**31), 13_766], k=ROWS), pa.int32()).view(pa.date32())


def others(rng: random.Random) -> pa.Array:
    """Types that are taken for some columns and refused for others."""
    return rng.choice(
        [
            pa.array(rng.choices(range(100), k=ROWS), rng.choice([pa.int8(), pa.uint16()])),
            pa.array([2**64 - 1] * ROWS, pa.uint64()),
            pa.array(rng.choices(FLOATS, k=ROWS), rng.choice([pa.float64(), pa.float32()])),
            pa.array([SECRET.encode()] * ROWS, rng.choice([pa.binary(), pa.large_binary(), pa.binary(4)])),
            pa.array([Decimal(7)] * ROWS, pa.decimal128(10, 0)),
            pa.array([True] * ROWS),
            pa.array([[1]] * ROWS),
            pa.nulls(ROWS, rng.choice([pa.null(), pa.string(), pa.int64()])),
        ]
    )


def times_of_day(rng: random.Random) -> pa.Array:
    seconds = pa.array(rng.choices([0, 86_399, 86_400, -1, 2**31 - 1], k=ROWS), pa.int32()).view(pa.time32("s"))
    micros = pa.array(rng.choices(INTEGERS, k=ROWS), pa.int64()).view(pa.time64(rng.choice(["us", "ns"])))
    return rng.choice([seconds, micros])


def whole_numbers(rng: random.Random) -> pa.Array:
    return pa.array(rng.choices(INTEGERS, k=ROWS), pa.int64())


def column(rng: random.Random) -> pa.Array:
    """Values of one of many types, hostile ones among them."""
    return rng.choice([text, text, text, times, times, days, times_of_day, whole_numbers, others, others])(rng)


@pytest.mark.parametrize(
    "seeds", [range(150), pytest.param(range(150, 5_000), marks=pytest.mark.nightly)], ids=["some", "many"]
)
def test_every_row_of_an_odd_parquet_file_is_accounted_for(store, tmp_path, seeds):
    used = []

    def attempt(rng):
        file = tmp_path / "r.parquet"
        table = pa.table({name: column(rng) for name in ("user_id", "time", "tower_id", "more")})
        old = rng.randrange(4) == 0
        pq.write_table(table, file, row_group_size=rng.choice([3, ROWS]), use_deprecated_int96_timestamps=old)
        how = rng.choice([*HOWS, {}, {"visit_date": "more"}, {"visit_where": {"more": rng.choice([0, "x", True])}}])
        assert without_quotes(file, store, rng, read_by(**how)) in (None, ROWS)
        used.append(file)

    assert raw_exceptions(seeds, attempt) == {}
    assert len(used) > len(seeds) // 8


@pytest.mark.parametrize(
    "seeds", [range(150), pytest.param(range(150, 5_000), marks=pytest.mark.nightly)], ids=["some", "many"]
)
def test_a_damaged_parquet_file_is_used_or_refused(store, tmp_path, seeds):
    text = [f"{SECRET}{i}" for i in range(ROWS)]
    table = pa.table({"user_id": text, "time": [1189404900] * ROWS, "tower_id": text})
    wholes = []
    for compression in ("none", "snappy", "zstd"):
        pq.write_table(table, tmp_path / "w.parquet", compression=compression)
        wholes.append((tmp_path / "w.parquet").read_bytes())

    def attempt(rng):
        (tmp_path / "r.parquet").write_bytes(spoiled_bytes(rng.choice(wholes), rng))
        without_quotes(tmp_path / "r.parquet", store, rng)

    assert raw_exceptions(seeds, attempt) == {}
