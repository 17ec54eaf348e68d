"""A store that event files are ingested into, and what is found there."""

import gzip
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from density_assets.calendar import week_clock
from density_assets.settings import EngineSettings
from density_assets.settings.city import CitySettings
from resources.sql.duckdb_engine import DuckdbEngine
from resources.tables.store import Store

WEEK, SPRING, AUTUMN = date(2007, 9, 10), date(2008, 3, 24), date(2007, 10, 22)
ANTENNAS = pl.DataFrame(
    {"antenna_id": ["A", "A2", "A3", "B", "far"], "tower_id": ["A", "A", "A", "B", None]}
)  # two sites, one of three antennas, and an antenna outside the city


def town_store(folder: Path) -> Store:
    """A store that knows these antennas."""
    store = Store(folder, "town")
    store.write_public("antennas", ANTENNAS)
    return store


def stored(
    store: Store, files: list[Path], week: date = WEEK, zone: str = "Europe/Paris", **settings: object
) -> dict[str, int]:
    """Ingest files; returns how many records are left out, by reason."""
    city = CitySettings.model_construct(timezone=zone, **settings)
    return DuckdbEngine(store, EngineSettings(threads=1)).ingest(
        week_clock(week, ZoneInfo(zone)), files, city, lambda _: None
    )


def rows(store: Store, week: date = WEEK) -> set[tuple]:
    """Who is stored in which hour at which site."""
    return set(store.read_week("visits", week).select("user_id", "hour", "tower_id").rows())


def visits(
    store: Store, *files: Path, week: date = WEEK, zone: str = "Europe/Paris", **settings: object
) -> tuple[set[tuple], dict[str, int]]:
    """What is stored of files, and how many records are left out by reason."""
    rejected = stored(store, list(files), week, zone, **settings)
    return rows(store, week), rejected


def text(store: Store, *lines: str, name: str = "r.csv") -> Path:
    """A file of these lines, compressed as its name says."""
    file = store.folder / name
    content = "".join(f"{line}\n" for line in lines).encode()
    if name.endswith(".gz"):
        content = gzip.compress(content, 1)
    if name.endswith(".zst"):
        content = pa.Codec("zstd").compress(content, asbytes=True)
    file.write_bytes(content)
    return file


def table(store: Store, **columns: object) -> Path:
    """A Parquet file of these columns."""
    file = store.folder / "r.parquet"
    pq.write_table(pa.table(columns), file)
    return file
