"""From sources to the `visits` table: simulated people, or files of real records.

Simulated people are the same for every engine; reading records is DuckDB's (Spark's is in `spark_records.py`). Both
write rows sorted by user key, at most one per user, hour and site. Raw records may be far larger than memory: one pass
splits them by user key into staged parts, then each part is deduplicated and sorted on its own. Staged parts live in
the confidential folder and are always removed.
"""

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa

from density_assets.calendar import WeekClock
from density_assets.damage import STREAM_DAMAGE
from density_assets.geography.cells_and_towers import Towers
from density_assets.people.population import VisitChunk
from density_assets.records.event_files import USABLE, no_records, open_records
from density_assets.records.formats import unreadable
from density_assets.settings.city import CitySettings
from resources.faults import fault
from resources.sql.engine import IN_DUCKDB, KEYS, Report, clock_parameters, unusable_warning
from resources.sql.models import model
from resources.tables.files import private_files
from resources.tables.store import Store

BYTES_PER_PART = 100_000_000
MOST_PARTS = 500  # each is an open file


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


@dataclass(frozen=True)
class Bounds:
    """What may be in memory at once: bytes of a part of the files, and rows on their way through this program."""

    part_bytes: int
    rows_at_once: int


def write_records(
    store: Store,
    connection: duckdb.DuckDBPyConnection,
    bounds: Bounds,
    clock: WeekClock,
    files: Sequence[Path],
    city: CitySettings,
    report: Report,
) -> dict[str, int]:
    """Store a week of real records; returns how many were rejected, by reason (confidential)."""
    size = sum(file.stat().st_size for file in files)
    parts = min(MOST_PARTS, max(1, size // min(BYTES_PER_PART, bounds.part_bytes)))
    with _staging(store, clock.week) as staging:
        rejected: Counter[str] = Counter()
        found = events(connection, store.read_public("antennas"), clock, files, city, rejected)
        staged = [staging / f"{part}.arrow" for part in range(parts)]
        with unquoted(staging, files):
            usable = _stage(found, staged, bounds.rows_at_once, rejected)
        report("visits: records read")
        if warning := unusable_warning({USABLE: usable, **rejected}, store, clock.week):
            report(warning)
        with store.writing_week("visits", clock.week) as writer:
            for done, file in enumerate(staged, start=1):
                with unquoted(staging), pa.memory_map(str(file)) as content:
                    connection.register("events", pa.ipc.open_stream(content).read_all())
                    writer.write(connection.sql(model("visits").sql).to_arrow_table())
                report(f"visits: {done / parts:.0%}")
        return dict(sorted(rejected.items()))


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
    files: Sequence[Path],
    city: CitySettings,
    rejected: Counter[str],
) -> duckdb.DuckDBPyRelation:
    """The events of a week's files, those that cannot be used included, with the reason; they can be read once.

    rejected: counts what of the files is not even an event, by reason, while the events are read.
    """
    connection.execute("set TimeZone = 'UTC'")
    records = open_records(connection, list(files), rejected, city) if files else no_records(connection)
    records.create_view("records")
    connection.register("antennas", antennas.to_arrow())
    connection.execute(IN_DUCKDB)
    return connection.sql(model("events").sql, params=clock_parameters(clock, city))


def _stage(found: duckdb.DuckDBPyRelation, staged: list[Path], rows_at_once: int, rejected: Counter[str]) -> int:
    """Write events to files, each with whole users, in the order of user keys; counts who is left out, by reason.

    Returns how many were written.

    The database could write such parts as well, but it keeps a block of memory for each.
    """
    written = 0
    with ExitStack() as opened:
        reader = found.to_arrow_reader(rows_at_once)
        files = [opened.enter_context(pa.OSFile(str(file), "wb")) for file in staged]
        writers = [opened.enter_context(pa.ipc.new_stream(file, reader.schema)) for file in files]
        for batch in reader:
            usable = batch.filter(batch["rejection"].is_null())
            written += len(usable)
            rejected.update(batch["rejection"].drop_null().to_pylist())
            for writer, rows in zip(writers, _split(usable, len(writers)), strict=True):
                writer.write_batch(rows)
    return written


@contextmanager
def unquoted(folder: Path, files: Sequence[Path] = ()) -> Iterator[None]:
    """Let no error of a library through: its message and its cause may quote a record.

    files: those that are read; the error names which of them are damaged.
    """
    try:
        yield
    except STREAM_DAMAGE as error:
        if said := fault(_native(error), folder):
            raise said from None
        raise unreadable(files, error) from None


def _split(events: pa.RecordBatch, parts: int) -> Iterator[pa.RecordBatch]:
    part = events["user_key"].to_numpy() * parts // KEYS
    order = np.argsort(part, kind="stable")
    edges = np.searchsorted(part[order], np.arange(parts + 1))
    ordered = events.take(pa.array(order))
    return (ordered.slice(first, last - first) for first, last in pairwise(edges.tolist()))


def _native(error: Exception) -> Exception:
    """The database's own error, where a stream of its rows has disguised it."""
    return duckdb.OutOfMemoryException() if "Out of Memory Error" in str(error) else error
