"""Where tables lie: two folders per city, one of which may be handed out.

`confidential/` (readable by its owner only) holds one Parquet file per table and week, behind views in
`confidential.duckdb`. A week is written aside and moved into place, so a crash leaves the old week, readers
never wait, and erasing a week is unlinking a file. `release/` holds `release.duckdb`, which is likewise built
aside and replaced whole. Nothing that a process died over is ever read: it ends in `.partial`.
"""

import glob
import hashlib
import hmac
import io
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import duckdb
import polars as pl
import polars.selectors as selectors
import pyarrow as pa
import pyarrow.parquet as pq
from duckdb import ColumnExpression, ConstantExpression
from filelock import FileLock

from density_assets.errors import BadInput
from density_assets.sql_names import quoted
from resources.tables.databases import reading, replacing
from resources.tables.stamps import Stamp, difference, geography_stamp, stamp_of
from resources.tables.week_writer import STAMP, WeekWriter

FAULTY = ".faulty"  # beside a week that a check has found wrong


class Store:
    """The tables of one city."""

    def __init__(self, home: Path, city: str, stamp: Stamp | None = None) -> None:
        self._stamp = stamp or {}
        self._geography: tuple[int, Stamp] = (-1, {})  # when release.duckdb was written, and what it says
        self.folder = home / city
        self.folder.mkdir(parents=True, exist_ok=True)
        self.confidential = self.folder / "confidential"
        self.release = self.folder / "release"
        with private_files():
            self.confidential.mkdir(exist_ok=True)
        self.confidential.chmod(0o700)
        self.release.mkdir(exist_ok=True)

    # --- confidential: one Parquet file per table and week -------------------------------------------

    def week_file(self, table: str, week: date) -> Path:
        """Where a week of a confidential table lies, whether or not it is there."""
        return self.confidential / table / f"{week}.parquet"

    @contextmanager
    def writing_week(self, table: str, week: date) -> Iterator[WeekWriter]:
        """Write a week of a confidential table piece by piece; it appears whole at the end, or not at all."""
        file = self.week_file(table, week)
        with private_files(), self.locked(f"{table}-{week}"):
            file.parent.mkdir(exist_ok=True)
            partial = file.with_suffix(".partial")
            writer = WeekWriter(partial, week, self._stamp_now(table))
            try:
                yield writer
            except BaseException:
                writer.abandon()
                raise
            writer.finish()
            os.replace(partial, file)
            file.with_suffix(FAULTY).unlink(missing_ok=True)
            self.refresh_views()

    def write_week(self, table: str, week: date, frame: pl.DataFrame) -> None:
        """Replace a week of a confidential table."""
        with self.writing_week(table, week) as writer:
            writer.write(frame.to_arrow())

    def read_week(self, table: str, week: date) -> pl.DataFrame:
        """One week of a confidential table, without its week column."""
        return pl.read_parquet(self.current_week(table, week)).drop("week")

    def current_week(self, table: str, week: date) -> Path:
        """The file of a week, after a look at what it was made under."""
        file = self.week_file(table, week)
        if not file.exists():
            why = "its confidential zone was erased" if self.purge_note(week).exists() else "it was never made"
            raise BadInput(
                f"{table} of the week of {week} must be there, but {why}: materialise it, with what it comes from; "
                "what was released needs no records"
            )
        if file.with_suffix(FAULTY).exists():
            raise BadInput(
                f"{table} of the week of {week} must have passed its checks, one found a fault of the software: "
                "mend that, then materialise it again"
            )
        try:
            metadata = pq.read_schema(file).metadata or {}
        except (OSError, pa.ArrowException) as error:
            raise BadInput(
                f"{table} of the week of {week} must be whole, reading it gave {type(error).__name__}: "
                "materialise it again, with what it comes from"
            ) from None
        made, now = json.loads(metadata.get(STAMP, b"{}")), self._stamp_now(table)
        if changed := difference(made, now):
            raise BadInput(
                f"{table} of the week of {week} must be made under the settings it is used under, but {changed}: "
                "materialise it again, with what it comes from"
            )
        return file

    def _stamp_now(self, table: str) -> Stamp:
        """What a table would be made under today; nothing if the store was opened without settings."""
        if not self._stamp:
            return {}
        written = self.release_database.stat().st_mtime_ns if self.release_database.exists() else 0
        if self._geography[0] != written:
            self._geography = written, geography_stamp(self.read_public("antennas"), self.read_public("cells"))
        return stamp_of(table, {**self._stamp, **self._geography[1]})

    def refuse_week(self, table: str, week: date) -> None:
        """Let nobody read a week that is not what its bounds say, until it is made again."""
        with private_files():
            self.week_file(table, week).with_suffix(FAULTY).touch()

    def purge_note(self, week: date) -> Path:
        """Where it says that the confidential zone of a week was erased."""
        return self.confidential / "purged" / f"{week}.json"

    def week_shape(self, table: str, week: date) -> tuple[int, dict[str, str]]:
        """How many rows a week of a confidential table has (itself confidential), and its columns' types."""
        metadata = pq.read_metadata(self.week_file(table, week))
        return metadata.num_rows, column_types(metadata.schema.to_arrow_schema())

    def refresh_views(self) -> None:
        """Point the views of `confidential.duckdb` at the Parquet files that are there."""
        database = self.confidential / "confidential.duckdb"
        with private_files(), self.locked("views"), replacing(database, keep=False) as connection:
            for folder in sorted({file.parent for file in self.confidential.glob("*/*.parquet")}):
                connection.read_parquet(str(folder / "*.parquet")).create_view(folder.name)

    # --- public: tables of release.duckdb ---------------------------------------------------------------

    @property
    def release_database(self) -> Path:
        """The database that may be handed out."""
        return self.release / "release.duckdb"

    def write_public(self, table: str, frame: pl.DataFrame) -> None:
        """Replace a table of `release.duckdb`."""
        with self._rebuilding(frame) as connection:
            connection.execute(f"create or replace table {quoted(table)} as from incoming")

    def write_release_week(self, table: str, week: date, frame: pl.DataFrame, release: str) -> None:
        """Replace a week of a table of `release.duckdb`.

        release: names the release the rows belong to, so that no later step mixes two.
        """
        weekly = frame.select(pl.lit(week).alias("week"), pl.lit(release).alias("release"), pl.all())
        with self._rebuilding(weekly) as connection:
            connection.execute(f"create table if not exists {quoted(table)} as from incoming limit 0")
            there = set(connection.table(quoted(table)).columns)
            incoming = connection.table("incoming")
            for name, kind in zip(incoming.columns, incoming.types, strict=True):
                if name not in there:  # older weeks were written before the column existed
                    connection.execute(f"alter table {quoted(table)} add column {quoted(name)} {kind}")
            connection.execute(f"delete from {quoted(table)} where week = $week", {"week": week})  # noqa: S608  # quoted
            connection.execute(f"insert into {quoted(table)} by name from incoming")

    @contextmanager
    def _rebuilding(self, frame: pl.DataFrame) -> Iterator[duckdb.DuckDBPyConnection]:
        with self.locked("release"), replacing(self.release_database, keep=True) as connection:
            connection.register("incoming", frame.to_arrow())
            yield connection
            connection.unregister("incoming")

    def read_public(self, table: str) -> pl.DataFrame:
        """A table of `release.duckdb`."""
        with reading(self.release_database) as connection:
            return pl.DataFrame(connection.table(table).to_arrow_table())

    def read_release_week(self, table: str, week: date, release: str) -> pl.DataFrame:
        """One week of a table of `release.duckdb`, refused if it belongs to another release."""
        with reading(self.release_database) as connection:
            mine = connection.table(table).filter(ColumnExpression("week") == ConstantExpression(week))
            found = pl.DataFrame(mine.to_arrow_table())
        if others := set(found["release"]) - {release}:
            raise BadInput(
                f"{table} of the week of {week} must belong to the release of today's settings ({release}), "
                f"but it belongs to {others.pop()}: materialise it again"
            )
        return found.drop("week", "release")

    def read_week_before(self, table: str, week: date) -> pl.DataFrame:
        """The newest earlier week of a table of `release.duckdb`, whatever its release; empty if there is none."""
        with reading(self.release_database) as connection:
            of = ColumnExpression("week")
            earlier = connection.table(table).filter(of < ConstantExpression(week))
            newest = earlier.aggregate("max(week)").fetchall()[0][0]
            return pl.DataFrame(connection.table(table).filter(of == ConstantExpression(newest)).to_arrow_table())

    # --- keys and fingerprints --------------------------------------------------------------------------

    @property
    def secret(self) -> bytes:
        """The installation's secret: drawn once, readable by its owner only, never leaves the zone."""
        file = self.confidential / "secret"
        with self.locked("secret"):
            if not file.exists():
                with private_files():
                    write_durably(file, secrets.token_bytes(32))
        return file.read_bytes()

    def week_fingerprint(self, table: str, week: date) -> str:
        """Keyed hash of a confidential week: equal for equal content, useless for confirming a guess."""
        with self.week_file(table, week).open("rb") as file:
            return self.keyed(hashlib.file_digest(file, "sha256").hexdigest())

    def keyed(self, fingerprint: str) -> str:
        """A fingerprint that only this installation can make."""
        return hmac.new(self.secret, fingerprint.encode(), "sha256").hexdigest()[:32]

    @contextmanager
    def locked(self, name: str) -> Iterator[None]:
        """One process at a time works on what is named; the lock ends with its process."""
        locks = self.confidential / "locks"
        with private_files():
            locks.mkdir(exist_ok=True)
        with FileLock(locks / f"{name}.lock", mode=0o600):
            yield


def column_types(schema: pa.Schema) -> dict[str, str]:
    """Arrow's name of each column's type."""
    return {field.name: str(field.type).removeprefix("large_") for field in schema}


def parquet_bytes(frame: pl.DataFrame) -> bytes:
    """A table as the content of a Parquet file, to be written durably."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def fingerprint(frame: pl.DataFrame) -> str:
    """Plain content hash of a public table: of its values as text, as equal tables may lie differently in memory."""
    text = frame.with_columns(selectors.binary().bin.encode("hex")).write_csv(null_value="\N{SYMBOL FOR NULL}")
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def write_durably(file: Path, content: bytes) -> None:
    """Write a file that is whole or absent, and on disk when this returns."""
    _remove_leftovers(file)
    partial = file.with_name(f"{file.name}.{os.getpid()}.partial")
    with partial.open("wb") as handle:
        handle.write(content)
        handle.flush()
        os.fsync(handle.fileno())
    os.replace(partial, file)
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _remove_leftovers(file: Path) -> None:
    """Remove what processes died over while they wrote this file."""
    for left in file.parent.glob(f"{glob.escape(file.name)}.*.partial"):
        if not Path("/proc", left.suffixes[-2][1:]).exists():
            left.unlink(missing_ok=True)


@contextmanager
def private_files() -> Iterator[None]:
    """Create files that only their owner can read."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)
