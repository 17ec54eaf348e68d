"""Runs the models of `dbt_like_sql/` on this machine, within bounded memory.

Everything computed from visits is computed per user first, so it can be computed for one set of users after
another: exactly the same result, a fraction of the memory. Visit files are sorted by user key, hence a bucket
of users is a range of keys, and Parquet statistics let each bucket read its own part of the file only.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from duckdb import ColumnExpression, ConstantExpression

from density_assets.calendar import WeekClock
from density_assets.damage import ARROW_DAMAGE
from density_assets.errors import BadInput
from density_assets.records.files import RecordFile
from density_assets.settings import EngineSettings
from density_assets.settings.city import CitySettings
from resources.faults import fault
from resources.sql import ordered
from resources.sql.engine import KEYS, PER_USER, Report, small_tables, used
from resources.sql.ingest import Bounds, write_records
from resources.sql.models import Model, model
from resources.sql.ordered import OutOfOrder
from resources.tables.files import private_files, spill_folder
from resources.tables.store import Store
from resources.tables.weeks import StoredWeek

PARTS_IN_MEMORY = 8  # records grow when they are read and sorted; so many parts of files would fit
BYTES_FOR_ITSELF = 8_000_000  # what the database needs before the first row
BYTES_PER_ROW = 264  # and for each row of a bucket: three million rows fit into the 800 MB of the settings
BYTES_PER_STREAMED_ROW = 4_000  # few at once, because they are not the only ones in memory


T = TypeVar("T")


class DuckdbEngine:
    """DuckDB over the tables of one city."""

    def __init__(self, store: Store, settings: EngineSettings) -> None:
        self._store = store
        self._settings = settings
        at_once = max(1, settings.memory_bytes // BYTES_PER_STREAMED_ROW)
        self.bounds = Bounds(settings.memory_bytes // PARTS_IN_MEMORY, at_once)
        fitting = (settings.memory_bytes - BYTES_FOR_ITSELF) // BYTES_PER_ROW
        self.rows_per_bucket = max(1_000, min(settings.rows_per_bucket, fitting))

    @contextmanager
    def connect(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A database in memory that spills into the confidential folder only."""
        with private_files(), spill_folder(self._store.confidential) as spill, duckdb.connect() as connection:
            connection.execute("set threads = $n", {"n": self._settings.threads})
            connection.execute("set memory_limit = $m", {"m": self._settings.memory})
            connection.execute("set temp_directory = $d", {"d": str(spill)})
            connection.execute("set preserve_insertion_order = false")
            connection.execute("set enable_progress_bar = false")
            yield connection

    def ingest(
        self, clock: WeekClock, files: Sequence[RecordFile], city: CitySettings, report: Report
    ) -> dict[str, int]:
        """Store the visits of a week of real records; returns how many records were rejected, by reason."""
        with self.connect() as connection:
            return write_records(self._store, connection, self.bounds, clock, _on_this_machine(files), city, report)

    def materialise(self, name: str, week: date, parameters: dict[str, Any], report: Report) -> None:
        """Replace a week of the table that a model describes."""

        def store(tables: Iterator[pa.Table]) -> None:
            with self._store.writing_week(name, week) as writer:
                for rows in tables:
                    writer.write(rows)

        self._take(store, model(name), week, parameters, report)

    def counted(
        self, name: str, week: date, parameters: dict[str, Any], report: Report, by: tuple[str, ...] = ()
    ) -> pl.DataFrame:
        """What a model would say, without storing it: its sums, or the number of its rows `by` some columns."""
        query = model(name)

        def count(tables: Iterator[pa.Table]) -> pl.DataFrame:
            if query.summed:
                (table,) = tables
                return pl.DataFrame(table)
            counts = [pl.DataFrame(part.select(by)).group_by(by).len("rows") for part in tables]
            return pl.concat(counts).group_by(by).agg(pl.col("rows").sum()).sort(by)

        return self._take(count, query, week, parameters, report)

    def _take(self, take: Callable[[Iterator[pa.Table]], T], query: Model, *asked: Any) -> T:
        """What comes of the tables of a model: by the order of visits where that is known, else by SQL."""
        if ordered.stands_for(query) and self._settings.memory_bytes >= ordered.BYTES:
            with suppress(OutOfOrder):
                return take(self._in_order(query, *asked))
        return take(self._by_sql(query, *asked))

    def _in_order(self, query: Model, week: date, parameters: dict[str, Any], report: Report) -> Iterator[pa.Table]:
        stored = {table: self._store.current_week(table, week) for table in query.reads if table in PER_USER}
        if not all(found.local and len(found.files) == 1 for found in stored.values()):
            raise OutOfOrder("visits must lie in one file of this machine")
        files = {table: Path(found.files[0]) for table, found in stored.items()}
        towers, threads = self._store.read_public("towers"), self._settings.threads
        try:
            yield from ordered.tables(query.name, files, towers, parameters, threads)
        except ARROW_DAMAGE as error:
            raise self._store.damaged(" or ".join(files), week, f"reading it gave {type(error).__name__}") from None
        report(f"{query.name}: 100%")

    def _by_sql(self, query: Model, week: date, parameters: dict[str, Any], report: Report) -> Iterator[pa.Table]:
        with self.connect() as connection:
            for table, content in small_tables(query, self._store).items():
                connection.register(table, content)
            parts = self._parts(connection, query, week, parameters, report)
            yield from [_added_up(query, parts)] if query.summed else parts

    def _parts(
        self,
        connection: duckdb.DuckDBPyConnection,
        query: Model,
        week: date,
        parameters: dict[str, Any],
        report: Report,
    ) -> Iterator[pa.Table]:
        big = [table for table in query.reads if table in PER_USER]
        # Once for all buckets: each is compared with its digest, which takes as long as to read it.
        stored = {table: self._store.current_week(table, week) for table in {"visits", *big}}
        for system in [found.system for found in stored.values() if not found.local][:1]:
            connection.register_filesystem(system)
        ranges = self._buckets(stored["visits"], week)
        for done, (above, upto) in enumerate(ranges, start=1):
            key = ColumnExpression("user_key")
            in_bucket = (key > ConstantExpression(above)) & (key <= ConstantExpression(upto))
            with self._unquoted(query):
                for table in big:
                    files = connection.read_parquet(list(stored[table].files))
                    files.filter(in_bucket).create_view(table, replace=True)
                rows = connection.sql(query.sql, params=used(query, parameters)).to_arrow_table()
            yield rows
            report(f"{query.name}: {done / len(ranges):.0%}")

    def _buckets(self, visits: StoredWeek, week: date) -> list[tuple[int, int]]:
        try:
            return buckets(visits, self.rows_per_bucket)
        except (*ARROW_DAMAGE, ValueError) as error:
            raise self._store.damaged("visits", week, f"reading it gave {type(error).__name__}") from None

    @contextmanager
    def _unquoted(self, query: Model) -> Iterator[None]:
        """Say of an error what can be done about it; its message and its cause may quote a record."""
        try:
            yield
        except duckdb.InterruptException:
            raise
        except duckdb.Error as error:
            raise fault(error, self._store.folder) or BadInput(
                f"{query.name}.sql must run on every week, it gave {type(error).__name__}: materialise what it reads "
                "again; if that does not help, this is a fault of the software"
            ) from None


def _on_this_machine(files: Sequence[RecordFile]) -> list[Path]:
    if away := [file for file in files if not isinstance(file, Path)]:
        raise BadInput(
            f"DuckDB reads records of this machine, city.visits names {len(away)} files elsewhere: mount or copy them, "
            'or let Spark read them (engine.name = "spark")'
        )
    return [file for file in files if isinstance(file, Path)]


def buckets(visits: StoredWeek, rows_per_bucket: int) -> list[tuple[int, int]]:
    """Ranges of user keys (above, up to), together all keys, each with about so many rows.

    A user belongs to one range whole, because ranges are cut between keys and a user has one key. Within a row group
    keys are taken to be spread evenly: they are hashes, or the numbers of simulated users.
    """
    groups = sorted(group for file in visits.files for group in _row_groups(visits, file))
    rows = np.cumsum([0, *(number for _, number in groups)])
    keys = [-1, *(largest for largest, _ in groups)]
    cuts = np.interp(np.arange(rows_per_bucket, rows[-1], rows_per_bucket), rows, keys)
    edges = [-1, *np.unique(cuts.astype(np.int64)).tolist(), KEYS]
    return list(pairwise(edges))


def _row_groups(visits: StoredWeek, name: str) -> Iterator[tuple[int, int]]:
    """The largest user key and the number of rows of each row group of a file."""
    with visits.opened(name) as file:
        metadata = pq.read_metadata(file)
    column = metadata.schema.names.index("user_key")
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        known = group.column(column).statistics
        if group.num_rows and not (known and known.has_min_max):
            raise ValueError("row groups must say which keys they hold")
        if group.num_rows:
            yield known.max, group.num_rows


def _added_up(query: Model, parts: Iterator[pa.Table]) -> pa.Table:
    """Sums over disjoint sets of users are sums over all of them."""
    total: pl.DataFrame | None = None
    for part in parts:
        frame = pl.DataFrame(part)
        total = frame if total is None else pl.concat([total, frame])
        sums = [pl.col(column).sum() for column in query.summed]
        total = total.group_by(query.keys).agg(sums).sort(query.keys) if query.keys else total.select(sums)
    assert total is not None  # there is always at least one bucket
    return total.to_arrow()
