"""Where the weeks of confidential tables lie, and how they are opened.

Two ways: one file per table and week under the home, replaced by renaming (`week_files.py`), and folders anywhere that
a path or URL names, where nothing can be renamed and several machines write (`week_objects.py`). Whoever adds a third
offers these methods, and the same contract tests hold: a week is there whole or not at all, whatever dies meanwhile.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import BinaryIO, Protocol

from fsspec import AbstractFileSystem
from fsspec.implementations.local import LocalFileSystem

from resources.tables.stamps import Stamp
from resources.tables.week_writer import WeekWriter


class NotWhole(ValueError):
    """A week is not what was written."""


@dataclass(frozen=True)
class StoredWeek:
    """The files of a week of a table, found to be what was written.

    stamp: what it was made under.
    system: what opens them.
    """

    files: tuple[str, ...]
    stamp: Stamp
    system: AbstractFileSystem

    @property
    def local(self) -> bool:
        """Whether they are files of this machine."""
        return isinstance(self.system, LocalFileSystem)

    @contextmanager
    def opened(self, file: str) -> Iterator[BinaryIO | Path]:
        """A file, to be read; of this machine its path, which libraries read faster."""
        if self.local:
            yield Path(file)
            return
        with self.system.open(file, "rb") as content:
            yield content


class Weeks(Protocol):
    """The weeks of the confidential tables of a city."""

    def exists(self, table: str, week: date) -> bool:
        """Whether a week is there."""

    def look(self, table: str, week: date) -> StoredWeek:
        """The files of a week that is there; raises `NotWhole` if they are not what was written."""

    def writing(self, table: str, week: date, stamp: Stamp) -> AbstractContextManager[WeekWriter]:
        """Write a week piece by piece; it appears whole at the end, or not at all."""

    def fingerprint(self, table: str, week: date) -> str:
        """Equal for equal content, useless for confirming a guess."""

    def refuse(self, table: str, week: date) -> None:
        """Mark a week that a check has found wrong; the mark goes when it is written again."""

    def refused(self, table: str, week: date) -> bool:
        """Whether a week is marked."""

    def views(self) -> dict[str, list[str]]:
        """The files of this machine that hold whole weeks, by table."""
