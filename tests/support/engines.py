"""A town whose records any engine can take, files of them, and all that is made of them on two engines."""

import shutil
from datetime import UTC, date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from density_assets.calendar import week_clock
from density_assets.settings import EngineSettings
from density_assets.settings.city import CitySettings
from resources.sql.duckdb_engine import DuckdbEngine
from resources.sql.engine import KEYS, Engine
from resources.sql.spark_engine import SparkEngine
from resources.tables.store import Store

WEEK, AUTUMN, SPRING = date(2007, 9, 10), date(2007, 10, 22), date(2008, 3, 24)
ZONE = ZoneInfo("Europe/Paris")
CITY = CitySettings.model_construct(visit_user="user_id", visit_time="time", visit_tower="tower_id")
PARAMETERS = {
    "visits_per_user": 5,
    "visits_clamp": 20,
    "weight_l": 3,
    "tower_l": 16,
    "site_salt": 12_345,
    "hour_salt": 678_901,
    "visit_salt": KEYS - 1,
}
ANTENNAS = {"A": "A", "A2": "A", "B": "B", "0": "B", "12": "C", "-3": "C", "1.50": "D"}
SETTINGS = EngineSettings(threads=2)
HOUR = 3_600

needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="Java is not installed and could not be")


def store_at(folder: Path, weeks: str | None) -> Store:
    store = Store(folder, "town", None, weeks)
    antennas = {"antenna_id": [*ANTENNAS, "far"], "tower_id": [*ANTENNAS.values(), None]}
    store.write_public("antennas", pl.DataFrame(antennas))
    sites = sorted(set(ANTENNAS.values()))
    store.write_public("towers", pl.DataFrame({"tower_id": sites, "site": range(len(sites))}))
    return store


def write(file: Path, user: pa.Array, time: pa.Array, tower: pa.Array, **options: object) -> Path:
    pq.write_table(pa.table({"user_id": user, "time": time, "tower_id": tower}), file, **options)
    return file


def moments(week: date, size: int, rng: np.random.Generator) -> np.ndarray:
    """Seconds of UTC, some of them outside the week."""
    monday = int(datetime(week.year, week.month, week.day, tzinfo=UTC).timestamp())
    return rng.integers(monday - 3 * HOUR, monday + 171 * HOUR, size)


def towers(size: int, rng: np.random.Generator) -> pa.Array:
    return pa.array(rng.choice([*ANTENNAS, "unknown", "", None], size), pa.string())


def some_records(file: Path, users: np.ndarray, rng: np.random.Generator) -> Path:
    return write(file, pa.array(users), pa.array(moments(WEEK, len(users), rng)), towers(len(users), rng))


MODELS = sorted(file.stem for file in (Path(__file__).parents[2] / "dbt_like_sql").glob("*.sql"))
INGESTED = ("events", "visits")
STORED = ("truncated_visits", "tower_series", "tower_totals", "one_visit_histogram", "visit_total")
COUNTED = [name for name in MODELS if name not in (*INGESTED, *STORED)]  # whatever model there is, it is compared


def everything(
    store: Store, engine: Engine, week: date, files: list[Path], city: CitySettings = CITY, *, visits_only: bool = False
) -> dict[str, object]:
    """All that the visits side says of a week's files."""
    said: dict[str, object] = {"rejected": engine.ingest(week_clock(week, ZONE), files, city, lambda _: None)}
    stored, counted = ((), ()) if visits_only else (STORED, COUNTED)
    for name in stored:
        engine.materialise(name, week, PARAMETERS, lambda _: None)
    for name in ("visits", *stored):
        rows = store.read_week(name, week)
        said[name] = rows.sort(rows.columns) if "user_key" in rows.columns else rows
    for name in counted:
        said[name] = engine.counted(name, week, PARAMETERS, lambda _: None)
    if not visits_only:
        said["by"] = engine.counted("truncated_visits", week, PARAMETERS, lambda _: None, by=("tower_id", "hour"))
    return said


def assert_agree(
    folder: Path,
    week: date,
    files: list[Path],
    city: CitySettings = CITY,
    spark: EngineSettings = SETTINGS,
    *,
    visits_only: bool = False,
) -> dict[str, object]:
    """All that is said of a week's files, which DuckDB and Spark say alike."""
    here, there = store_at(folder / "duckdb", None), store_at(folder / "spark", str(folder / "weeks"))
    one = everything(here, DuckdbEngine(here, SETTINGS), week, files, city, visits_only=visits_only)
    other = everything(there, SparkEngine(there, spark), week, files, city, visits_only=visits_only)
    for name, found in one.items():
        if isinstance(found, pl.DataFrame):
            assert found.schema == other[name].schema, name
            assert found.equals(other[name]), name
        else:
            assert found == other[name], name
    return other
