"""Where tables lie: two folders per city, one of which may be handed out.

`confidential/` (readable by its owner only) holds one Parquet file per table and week, its digest beside it, behind
views in `confidential.duckdb`. A week is written aside and moved into place, so a crash leaves the old week, readers
never wait, and erasing a week is unlinking a file. `release/` is kept likewise (`released.py`). Nothing that a process
died over is ever read: it ends in `.partial`.
"""

import hmac
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq

from density_assets.damage import ARROW_DAMAGE, POLARS_DAMAGE
from density_assets.errors import BadInput
from resources.faults import in_clear_words
from resources.tables.content import column_types
from resources.tables.databases import replacing
from resources.tables.digests import digest, is_whole, note_digest
from resources.tables.files import close_to_others, make_folder, private_files, write_durably
from resources.tables.release_database import adopt
from resources.tables.released import ReleasedTables
from resources.tables.stamps import Stamp, difference, geography_stamp, stamp_of
from resources.tables.week_writer import STAMP, WeekWriter

FAULTY = ".faulty"  # beside a week that a check has found wrong


class Store(ReleasedTables):
    """All tables of one city: the released ones, and those nobody but their owner may read."""

    def __init__(self, home: Path, city: str, stamp: Stamp | None = None) -> None:
        super().__init__(home / city)
        self._stamp = stamp or {}
        self._geography: tuple[tuple[int, ...], Stamp] = ((), {})  # when its tables were written, and what it says
        self.confidential = self.folder / "confidential"
        with in_clear_words(home):
            self._make_folders()
            adopt(self)

    def _make_folders(self) -> None:
        make_folder(self.release)
        close_to_others(self.release)
        with private_files():
            self.confidential.mkdir(exist_ok=True)
        self.confidential.chmod(0o700)
        self.locks.mkdir(mode=0o700, exist_ok=True)  # a step behind a wall could make it, but not open a file in it

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
            note_digest(file, partial, self.keyed)
            os.replace(partial, file)
            file.with_suffix(FAULTY).unlink(missing_ok=True)
            self.refresh_views()

    def write_week(self, table: str, week: date, frame: pl.DataFrame) -> None:
        """Replace a week of a confidential table."""
        with self.writing_week(table, week) as writer:
            writer.write(frame.to_arrow())

    def read_week(self, table: str, week: date) -> pl.DataFrame:
        """One week of a confidential table, without its week column."""
        file = self.current_week(table, week)
        try:
            return pl.read_parquet(file).drop("week")
        except POLARS_DAMAGE as error:
            raise self.damaged(table, week, error) from None

    def current_week(self, table: str, week: date) -> Path:
        """The file of a week, after a look at whether it is whole and what it was made under."""
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
        if not is_whole(file, self.keyed):
            raise self.damaged(table, week)
        try:
            made = json.loads((pq.read_schema(file).metadata or {}).get(STAMP, b"{}"))
        except (*ARROW_DAMAGE, ValueError) as error:
            raise self.damaged(table, week, error) from None
        if changed := difference(made, self._stamp_now(table)):
            raise BadInput(
                f"{table} of the week of {week} must be made under the settings it is used under, but {changed}: "
                "materialise it again, with what it comes from"
            )
        return file

    def damaged(self, table: str, week: date, error: BaseException | None = None) -> BadInput:
        """What to say of a week that is not what was written, or cannot be read; never what was read."""
        found = "it is not what was written" if error is None else f"reading it gave {type(error).__name__}"
        return BadInput(
            f"{table} of the week of {week} must be whole, but {found}: materialise it again, with what it comes from"
        )

    def _stamp_now(self, table: str) -> Stamp:
        """What a table would be made under today; nothing if the store was opened without settings."""
        if not self._stamp:
            return {}
        if self._geography[0] != (written := self.written("antennas", "cells")):
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
        metadata = pq.read_metadata(self.current_week(table, week))
        return metadata.num_rows, column_types(metadata.schema.to_arrow_schema())

    def refresh_views(self) -> None:
        """Point the views of `confidential.duckdb` at the Parquet files that are there."""
        database = self.confidential / "confidential.duckdb"
        with private_files(), self.locked("views"), replacing(database) as connection:
            for folder in sorted({file.parent for file in self.confidential.glob("*/*.parquet")}):
                connection.read_parquet(str(folder / "*.parquet")).create_view(folder.name)

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
        return digest(self.week_file(table, week), self.keyed)

    def keyed(self, fingerprint: str) -> str:
        """A fingerprint that only this installation can make."""
        return hmac.new(self.secret, fingerprint.encode(), "sha256").hexdigest()[:32]
