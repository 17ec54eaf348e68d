"""Records larger than the memory the database may use: nothing is lost, or the message says what to do."""

from datetime import date
from zoneinfo import ZoneInfo

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest

from density_assets.calendar import week_clock
from density_assets.errors import BadInput
from density_assets.settings import CitySettings, EngineSettings
from resources.engine import SqlEngine
from resources.ingest import write_records
from resources.store import Store

WEEK = date(2007, 9, 10)
CITY = CitySettings.model_construct(visit_user="user_id", visit_time="time", visit_tower="tower_id")
USERS, HOURS = 90_000, 20


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """One file: every user once in each of the first hours of the week, hour by hour."""
    file = tmp_path_factory.mktemp("records") / "records.parquet"
    query = """copy (
        select 'subscriber-' || md5((n % $users)::varchar) as user_id,
            1189375200 + 3600 * (n // $users) + n % 3600 as time, 'A' as tower_id
        from range($users * $hours) t(n)
    ) to $file (format parquet, row_group_size 20000)"""
    duckdb.execute(query, {"users": USERS, "hours": HOURS, "file": str(file)})
    return file


def written(folder, records, memory: str) -> Store:
    store = Store(folder, "town")
    store.write_public("antennas", pl.DataFrame({"antenna_id": ["A"], "tower_id": ["A"]}))
    engine = SqlEngine(store, EngineSettings(memory=memory, threads=1))
    clock = week_clock(WEEK, ZoneInfo("Europe/Paris"))
    assert write_records(store, engine, clock, [records], CITY, lambda _: None) == {}
    return store


def test_a_file_that_does_not_fit_into_memory_is_read_whole(tmp_path, records):
    values = pq.read_metadata(records).num_rows * (len("subscriber-") + 32 + 8 + 1)  # bytes, without any overhead
    assert values > 2.9 * 32e6
    assert records.stat().st_size > 1.9 * 32e6  # even compressed
    store = written(tmp_path, records, "32MB")
    visits = store.read_week("visits", WEEK)
    assert len(visits) == USERS * HOURS
    assert visits["user_id"].n_unique() == USERS
    assert visits["hour"].value_counts()["count"].unique().to_list() == [USERS]
    assert not list((store.confidential / "staging").iterdir())
    assert not list((store.confidential / "spill").rglob("*.tmp"))


def test_too_little_memory_says_what_to_do_and_leaves_nothing(tmp_path, records):
    with pytest.raises(BadInput, match=r"must get by with engine\.memory.*raise it"):
        written(tmp_path, records, "3MB")
    assert not list((tmp_path / "town/confidential/staging").iterdir())
    assert not list((tmp_path / "town/confidential").glob("visits/*"))


@pytest.mark.parametrize(
    ("text", "size"), [("800MB", 800_000_000), ("1.5 GiB", 1_610_612_736), ("2GB", 2_000_000_000), ("1MiB", 1_048_576)]
)
def test_the_memory_as_a_number(text, size):
    assert EngineSettings(memory=text).memory_bytes == size
