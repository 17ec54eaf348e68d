"""Records larger than the memory the database may use: nothing is lost, or the message says what to do."""

import math
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest

from density_assets.calendar import week_clock
from density_assets.errors import BadInput
from density_assets.settings import EngineSettings
from density_assets.settings.city import CitySettings
from resources.sql.duckdb_engine import DuckdbEngine
from resources.tables.store import Store

WEEK = date(2007, 9, 10)
CITY = CitySettings.model_construct(visit_user="user_id", visit_time="time", visit_tower="tower_id")
USERS, HOURS, KEPT = 55_000, 40, 5
PARAMETERS = {
    "visits_per_user": KEPT,
    "visits_clamp": 732,
    "weight_l": 10,
    "tower_l": 400,
    "site_salt": 1,
    "hour_salt": 2,
    "visit_salt": 3,
}


def records_of(users: int, folder: Path) -> Path:
    """One file: every user once in each of the first hours of the week, hour by hour."""
    file = folder / "records.parquet"
    query = """copy (
        select 'subscriber-' || sha256((n % $users)::varchar) || sha256((-1 - n % $users)::varchar) as user_id,
            1189375200 + 3600 * (n // $users) + n % 3600 as time, 'A' as tower_id
        from range($users * $hours) t(n)
    ) to $file (format parquet, row_group_size 20000)"""
    duckdb.execute(query, {"users": users, "hours": HOURS, "file": str(file)})
    return file


def written(folder, records, memory: str) -> tuple[Store, DuckdbEngine]:
    store = Store(folder, "town")
    store.write_public("antennas", pl.DataFrame({"antenna_id": ["A"], "tower_id": ["A"]}))
    store.write_public("towers", pl.DataFrame({"tower_id": ["A"], "site": [0]}))
    engine = DuckdbEngine(store, EngineSettings(memory=memory, threads=1))
    clock = week_clock(WEEK, ZoneInfo("Europe/Paris"))
    assert engine.ingest(clock, [records], CITY, lambda _: None) == {}
    return store, engine


def size(records: Path) -> int:
    """How many bytes its values take, without any overhead."""
    return pq.read_metadata(records).num_rows * (len("subscriber-") + 128 + 8 + 1)


def test_a_file_ten_times_the_memory_becomes_series_with_nothing_lost(tmp_path):
    records = records_of(USERS, tmp_path)
    assert size(records) > 10 * 32e6
    store, engine = written(tmp_path, records, "32MB")
    for name in ("truncated_visits", "tower_series", "tower_totals", "one_visit_histogram"):
        engine.materialise(name, WEEK, PARAMETERS, lambda _: None)

    visits = store.read_week("visits", WEEK)
    assert len(visits) == USERS * HOURS
    assert visits["user_id"].n_unique() == USERS
    series = store.read_week("tower_series", WEEK).sort("hour")
    assert series["original"].to_list() == [USERS] * HOURS + [0] * (168 - HOURS)
    assert series["truncated"].sum() == USERS * KEPT
    assert series["weighted"].sum() == USERS * HOURS * math.isqrt(10 * 2**32 // HOURS)
    assert store.read_week("tower_totals", WEEK)["weighted"].to_list() == [USERS * HOURS * 2**15]  # a half: 20 of 40
    assert store.read_week("one_visit_histogram", WEEK)["users"].to_list() == [USERS]
    assert not list((store.confidential / "staging").iterdir())
    assert not list((store.confidential / "spill").rglob("*.tmp"))


def test_too_little_memory_says_what_to_do_and_leaves_nothing(tmp_path):
    records = records_of(USERS // 10, tmp_path)
    assert size(records) > 10 * 3e6
    with pytest.raises(BadInput, match=r"must get by with engine\.memory.*raise it"):
        written(tmp_path, records, "3MB")
    assert not list((tmp_path / "town/confidential/staging").iterdir())
    assert not list((tmp_path / "town/confidential").glob("weeks/visits/**/*.parquet"))


@pytest.mark.parametrize(
    ("text", "size"), [("800MB", 800_000_000), ("1.5 GiB", 1_610_612_736), ("2GB", 2_000_000_000), ("1MiB", 1_048_576)]
)
def test_the_memory_as_a_number(text, size):
    assert EngineSettings(memory=text).memory_bytes == size
