"""Weeks as files under the home: one Parquet file per table and week, its digest beside it.

A week is written aside and moved into place, so a crash leaves the old week, readers never wait, and erasing a week is
unlinking a file. Nothing that a process died over is ever read: it ends in `.partial`.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import pyarrow.parquet as pq
from fsspec.implementations.local import LocalFileSystem

from density_assets.damage import ARROW_DAMAGE
from resources.tables.digests import Keyed, digest, is_whole, note_digest
from resources.tables.files import private_files
from resources.tables.stamps import Stamp
from resources.tables.week_writer import STAMP, WeekWriter
from resources.tables.weeks import NotWhole, StoredWeek

FAULTY = ".faulty"  # beside a week that a check has found wrong


class WeekFiles:
    """`<folder>/<table>/<week>.parquet`."""

    def __init__(self, folder: Path, keyed: Keyed) -> None:
        self._folder = folder
        self._keyed = keyed

    def file(self, table: str, week: date) -> Path:
        """Where a week lies, whether or not it is there."""
        return self._folder / table / f"{week}.parquet"

    def exists(self, table: str, week: date) -> bool:
        """Whether a week is there."""
        return self.file(table, week).exists()

    def look(self, table: str, week: date) -> StoredWeek:
        """The file of a week that is there; raises `NotWhole` if it is not what was written."""
        file = self.file(table, week)
        if not is_whole(file, self._keyed):
            raise NotWhole("it is not what was written")
        try:
            stamp = json.loads((pq.read_schema(file).metadata or {}).get(STAMP, b"{}"))
        except (*ARROW_DAMAGE, ValueError) as error:
            raise NotWhole(f"reading it gave {type(error).__name__}") from None
        return StoredWeek((str(file),), stamp, LocalFileSystem())

    @contextmanager
    def writing(self, table: str, week: date, stamp: Stamp) -> Iterator[WeekWriter]:
        """Write a week piece by piece; it appears whole at the end, or not at all."""
        file = self.file(table, week)
        with private_files():
            file.parent.mkdir(exist_ok=True)
            partial = file.with_suffix(".partial")
            with WeekWriter(partial, week, stamp) as writer:
                yield writer
            note_digest(file, partial, self._keyed)
            os.replace(partial, file)
            file.with_suffix(FAULTY).unlink(missing_ok=True)

    def fingerprint(self, table: str, week: date) -> str:
        """Equal for equal content, useless for confirming a guess."""
        return digest(self.file(table, week), self._keyed)

    def refuse(self, table: str, week: date) -> None:
        """Mark a week that a check has found wrong."""
        with private_files():
            self.file(table, week).with_suffix(FAULTY).touch()

    def refused(self, table: str, week: date) -> bool:
        """Whether a week is marked."""
        return self.file(table, week).with_suffix(FAULTY).exists()

    def views(self) -> dict[str, list[str]]:
        """The files that are there, by table."""
        folders = sorted({file.parent for file in self._folder.glob("*/*.parquet")})
        return {folder.name: [str(folder / "*.parquet")] for folder in folders}
