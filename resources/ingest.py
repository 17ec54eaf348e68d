"""From sources to the `visits` table: simulated people, or files of real records.

Both end in one Parquet file per week, sorted by user key, with at most one row per user, hour and site.
Raw records may be far larger than memory: one pass splits them by user key into staged parts, then each part
is deduplicated and sorted on its own. Staged parts live in the confidential folder and are always removed.
"""

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
from duckdb import ColumnExpression, ConstantExpression

from density_assets.calendar import WeekClock
from density_assets.cities.geography import Towers
from density_assets.cities.population import VisitChunk
from density_assets.cities.records import no_records, open_records, unreadable_lines
from density_assets.errors import BadInput
from density_assets.settings import CitySettings
from resources.engine import KEYS, Report, SqlEngine
from resources.faults import fault
from resources.models import model
from resources.store import Store, private_files

BYTES_PER_PART = 100_000_000
REJECTED = -1  # the staged part of records that cannot be used, kept until they are counted


def write_simulated(
    store: Store, week: date, chunks: Iterable[VisitChunk], towers: Towers, users: int, report: Report
) -> None:
    """Store a simulated week; users are numbered in order, so their number can be the key."""
    with store.writing_week("visits", week) as writer:
        for chunk in chunks:
            columns = {
                "user_id": chunk.user,
                "hour": chunk.hour.astype(np.int64),
                "tower_id": towers.ids[chunk.tower],
            }
            writer.write(pa.table({**columns, "user_key": chunk.user}))
            report(f"visits: {chunk.user[-1] / users:.0%}")


def write_records(
    store: Store, engine: SqlEngine, clock: WeekClock, files: list[Path], city: CitySettings, report: Report
) -> dict[str, int]:
    """Store a week of real records; returns how many were rejected, by reason (confidential)."""
    part_bytes = min(BYTES_PER_PART, engine.part_bytes)
    parts = max(1, sum(file.stat().st_size for file in files) // part_bytes)
    with _staging(store, clock.week) as staging, engine.connect() as connection:
        found = events(connection, store.read_public("antennas"), clock, files, city)
        staged = _staged(connection, found, staging, parts)
        report("visits: records read")
        with store.writing_week("visits", clock.week) as writer:
            for part in range(parts):
                staged.filter(ColumnExpression("part") == ConstantExpression(part)).create_view("events", replace=True)
                writer.write(connection.sql(model("visits").sql).to_arrow_table())
                report(f"visits: {(part + 1) / parts:.0%}")
        return _rejections(staged) | _lines(unreadable_lines(connection))


@contextmanager
def _staging(store: Store, week: date) -> Iterator[Path]:
    """A folder for staged parts that one run uses at a time; what a killed run left in it is removed first."""
    folder = store.confidential / "staging" / str(week)
    with store.locked(f"staging-{week}"):
        shutil.rmtree(folder, ignore_errors=True)
        try:
            with private_files():
                folder.mkdir(parents=True)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def events(
    connection: duckdb.DuckDBPyConnection,
    antennas: pl.DataFrame,
    clock: WeekClock,
    files: list[Path],
    city: CitySettings,
) -> duckdb.DuckDBPyRelation:
    """The events of a week's files, those that cannot be used included, with the reason."""
    columns = {"user": city.visit_user, "time": city.visit_time, "tower": city.visit_tower}
    connection.execute("set TimeZone = 'UTC'")
    records = open_records(connection, files, **columns) if files else no_records(connection)
    records.create_view("records")
    connection.register("antennas", antennas.to_arrow())
    parameters = {
        "monday": clock.monday,
        "change": clock.change,
        "before": clock.before,
        "after": clock.after,
    }
    return connection.sql(model("events").sql, params=parameters)


def _staged(
    connection: duckdb.DuckDBPyConnection, found: duckdb.DuckDBPyRelation, staging: Path, parts: int
) -> duckdb.DuckDBPyRelation:
    """Events on disk, in parts of whole users; the parts follow the order of user keys."""
    part = f"case when rejection is null then user_key * {parts} // {KEYS} else {REJECTED} end as part"
    split = found.project(f"*, {part}")
    try:
        split.write_parquet(str(staging), partition_by=["part"], overwrite=True)
    except duckdb.Error as error:
        if said := fault(error, staging.parent):
            raise said from None
        # Its message and its cause may quote a record.
        raise BadInput(f"visit files must be readable, reading them gave {type(error).__name__}") from None
    if not any(staging.rglob("*.parquet")):
        return split  # no records at all
    return connection.read_parquet(str(staging / "*" / "*.parquet"), hive_partitioning=True)


def _lines(unreadable: int) -> dict[str, int]:
    return {"line not readable": unreadable} if unreadable else {}


def _rejections(staged: duckdb.DuckDBPyRelation) -> dict[str, int]:
    rejected = staged.filter(ColumnExpression("part") == ConstantExpression(REJECTED))
    return dict(sorted(rejected.aggregate("rejection, count(*)").fetchall()))
