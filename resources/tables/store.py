"""Where tables lie: two folders per city, one of which may be handed out.

`confidential/` (readable by its owner only) holds a folder of Parquet files per table and week (`weeks.py`), behind
views in `confidential.duckdb`; settings may say that weeks lie elsewhere. `release/` is in `released.py`.
A week is there whole or not at all, readers never wait, and nothing that a process died over is read.
"""

import hmac
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import date
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq

from density_assets.damage import POLARS_DAMAGE
from density_assets.errors import BadInput
from density_assets.settings.values import is_url
from resources.faults import in_clear_words
from resources.tables.files import close_to_others, column_types, make_folder, private_files, replacing, write_durably
from resources.tables.released import ReleasedTables
from resources.tables.stamps import Stamp, difference, geography_stamp, stamp_of
from resources.tables.week_writer import WeekWriter
from resources.tables.weeks import Attempt, NotWhole, StoredWeek, Weeks, note_root, roots_of


class Store(ReleasedTables):
    """All tables of one city: the released ones, and those nobody but their owner may read."""

    def __init__(self, home: Path, city: str, stamp: Stamp | None = None, weeks: str | None = None) -> None:
        """weeks: a path or URL for the weeks of confidential tables, if they are not to be files of the home."""
        super().__init__(home / city)
        self._stamp = stamp or {}
        self._geography: tuple[tuple[int, ...], Stamp] = ((), {})  # when its tables were written, and what it says
        self.confidential = self.folder / "confidential"
        with in_clear_words(home):
            self._make_folders()
        root = str(self.confidential / "weeks")
        if weeks is not None:
            root = self._root(home, weeks, city)
            note_root(self.confidential, root)
        self.weeks = self._weeks_at(root)

    def _weeks_at(self, root: str) -> Weeks:
        return Weeks(root, self.confidential, self.keyed)

    @staticmethod
    def _root(home: Path, weeks: str, city: str) -> str:
        """Where weeks of a city lie at a place that cities may share."""
        root = f"{weeks.rstrip('/')}/{city}"
        if is_url(root):
            return root
        real, here = Path(root).resolve(), (home / city).resolve()
        if real.is_relative_to(home.resolve()) and not real.is_relative_to(here / "confidential"):
            raise BadInput(f"storage.weeks must not be a folder of the home that others may read, got {weeks}")
        return str(real)

    def erase_elsewhere(self, week: date) -> list[str]:
        """Remove every file of a week at any place, the home aside, where weeks of the city were ever kept."""
        return [name for root in roots_of(self.confidential) for name in self._weeks_at(root).erase(week)]

    def _make_folders(self) -> None:
        make_folder(self.release)
        close_to_others(self.release)
        with private_files():
            self.confidential.mkdir(exist_ok=True)
        self.confidential.chmod(0o700)
        self.locks.mkdir(mode=0o700, exist_ok=True)  # a step behind a wall could make it, but not open a file in it

    # --- confidential: a table and a week at a time ----------------------------------------------------

    def has_week(self, table: str, week: date) -> bool:
        """Whether a week of a confidential table is there."""
        return self.weeks.exists(table, week)

    @contextmanager
    def writing_week(self, table: str, week: date) -> Iterator[WeekWriter]:
        """Write a week of a confidential table piece by piece; it appears whole at the end, or not at all."""
        with self._replacing(table, week) as stamp, self.weeks.writing(table, week, stamp) as writer:
            yield writer

    @contextmanager
    def gathering_week(self, table: str, week: date) -> Iterator[Attempt]:
        """The same for whoever writes many files at once, from several machines."""
        with self._replacing(table, week) as stamp, self.weeks.gathering(table, week, stamp) as attempt:
            yield attempt

    @contextmanager
    def _replacing(self, table: str, week: date) -> Iterator[Stamp]:
        with self.locked(f"{table}-{week}"):
            yield self._stamp_now(table)
            self.refresh_views()

    def write_week(self, table: str, week: date, frame: pl.DataFrame) -> None:
        """Replace a week of a confidential table."""
        with self.writing_week(table, week) as writer:
            writer.write(frame.to_arrow())

    def read_week(self, table: str, week: date) -> pl.DataFrame:
        """One week of a confidential table, without its week column."""
        stored = self.current_week(table, week)
        try:
            with ExitStack() as opened:
                files = [opened.enter_context(stored.opened(file)) for file in stored.files]
                return pl.concat([pl.read_parquet(file) for file in files]).drop("week")
        except POLARS_DAMAGE as error:
            raise self.damaged(table, week, f"reading it gave {type(error).__name__}") from None

    def current_week(self, table: str, week: date) -> StoredWeek:
        """The files of a week, after a look at whether they are whole and what they were made under."""
        if not self.weeks.exists(table, week):
            why = "its confidential zone was erased" if self.purge_note(week).exists() else "it was never made"
            raise BadInput(
                f"{table} of the week of {week} must be there, but {why}: materialise it, with what it comes from; "
                "what was released needs no records"
            )
        if self.weeks.refused(table, week):
            raise BadInput(
                f"{table} of the week of {week} must have passed its checks, one found a fault of the software: "
                "mend that, then materialise it again"
            )
        try:
            stored = self.weeks.look(table, week)
        except NotWhole as found:
            raise self.damaged(table, week, str(found)) from None
        if changed := difference(stored.stamp, self._stamp_now(table)):
            raise BadInput(
                f"{table} of the week of {week} must be made under the settings it is used under, but {changed}: "
                "materialise it again, with what it comes from"
            )
        return stored

    def damaged(self, table: str, week: date, found: str) -> BadInput:
        """What to say of a week that is not what was written, or cannot be read; never what was read."""
        return BadInput(
            f"{table} of the week of {week} must be whole, but {found}: materialise it again, with what it comes from"
        )

    def _stamp_now(self, table: str) -> Stamp:
        """What a table would be made under today; nothing if the store was opened without settings."""
        if not self._stamp:
            return {}
        if self._geography[0] != (written := self.written("antennas", "cells", "overlaps")):
            lists = ("antennas", "cells", *(("overlaps",) if written[-1] else ()))
            self._geography = written, geography_stamp(*map(self.read_public, lists))
        return stamp_of(table, {**self._stamp, **self._geography[1]})

    def refuse_week(self, table: str, week: date) -> None:
        """Let nobody read a week that is not what its bounds say, until it is made again."""
        self.weeks.refuse(table, week)

    def purge_note(self, week: date) -> Path:
        """Where it says that the confidential zone of a week was erased."""
        return self.confidential / "purged" / f"{week}.json"

    def week_shape(self, table: str, week: date) -> tuple[int, dict[str, str]]:
        """How many rows a week of a confidential table has (itself confidential), and its columns' types."""
        stored, rows, types = self.current_week(table, week), 0, {}
        for name in stored.files:
            with stored.opened(name) as file:
                metadata = pq.read_metadata(file)
            rows, types = rows + metadata.num_rows, column_types(metadata.schema.to_arrow_schema())
        return rows, types

    def refresh_views(self) -> None:
        """Point the views of `confidential.duckdb` at the Parquet files of this machine that hold whole weeks."""
        database = self.confidential / "confidential.duckdb"
        with private_files(), self.locked("views"), replacing(database) as connection:
            for table, files in self.weeks.views().items():
                connection.read_parquet(files).create_view(table)

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
        return self.weeks.fingerprint(table, week)

    def keyed(self, fingerprint: str) -> str:
        """A fingerprint that only this installation can make."""
        return hmac.new(self.secret, fingerprint.encode(), "sha256").hexdigest()[:32]
