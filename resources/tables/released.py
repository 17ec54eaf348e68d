"""Public and released tables: Parquet files that may be handed out.

A table that is one for all weeks is `release/tables/<table>.parquet`, a weekly one has a file per week,
`release/tables/<table>/<week>.parquet`. Each is written aside and moved into place, so that readers never wait and a
week's writes cost the same however many weeks are stored. `release/release.duckdb` holds the same tables for whoever
likes SQL; it is made of these files (`release_database.py`) and never read by the software.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import polars as pl
from filelock import FileLock

from density_assets.damage import POLARS_DAMAGE
from density_assets.errors import BadInput
from resources.tables.files import close_to_others, make_folder, parquet_bytes, write_durably

WEEKS = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9].parquet"  # names of files of weeks; others are not ours


class ReleasedTables:
    """The public and released tables of one city. It cannot open anything else."""

    def __init__(self, folder: Path) -> None:
        """folder: the city's, which holds `release/`."""
        self.folder = folder
        self.release = folder / "release"
        self.tables = self.release / "tables"
        self.locks = folder / "locks"

    @property
    def release_database(self) -> Path:
        """The database that may be handed out."""
        return self.release / "release.duckdb"

    def public_file(self, table: str) -> Path:
        """Where a table that is one for all weeks lies."""
        return self.tables / f"{table}.parquet"

    def release_file(self, table: str, week: date) -> Path:
        """Where a week of a released table lies."""
        return self.tables / table / f"{week}.parquet"

    def write_public(self, table: str, frame: pl.DataFrame) -> None:
        """Replace a table that is one for all weeks."""
        self._write(self.public_file(table), frame)

    def write_release_week(self, table: str, week: date, frame: pl.DataFrame, release: str) -> None:
        """Replace a week of a table.

        release: names the release the rows belong to, so that no later step mixes two.
        """
        weekly = frame.select(pl.lit(week).alias("week"), pl.lit(release).alias("release"), pl.all())
        self._write(self.release_file(table, week), weekly)

    def read_public(self, table: str) -> pl.DataFrame:
        """A table that is one for all weeks."""
        return read_whole(self.public_file(table))

    def read_release_week(self, table: str, week: date, release: str) -> pl.DataFrame:
        """One week of a table, refused if it belongs to another release."""
        rows = read_whole(self.release_file(table, week))
        # One look at the whole column: as Python's own texts, hundreds of thousands of names take longer than the read.
        named = rows["release"].unique().to_list() if "release" in rows.columns else ["none"]
        if others := sorted(f"{name}" for name in named if name != release):
            raise BadInput(
                f"{table} of the week of {week} must belong to the release of today's settings ({release}), "
                f"but it belongs to {others[0]}: materialise it again"
            )
        return rows.drop("week", "release")

    def read_week_before(self, table: str, week: date) -> pl.DataFrame | None:
        """The newest earlier week of a table, whatever its release, with its week; none if there is none."""
        earlier = [known for known in self.released_weeks(table) if known < week]
        return read_whole(self.release_file(table, max(earlier))) if earlier else None

    def read_weeks_before(self, table: str, week: date) -> Iterator[pl.DataFrame]:
        """All earlier weeks of a table, the newest first, whatever their releases, with their weeks."""
        earlier = sorted((known for known in self.released_weeks(table) if known < week), reverse=True)
        return (read_whole(self.release_file(table, known)) for known in earlier)

    def released_weeks(self, table: str) -> Iterator[date]:
        """The weeks of a table that are there."""
        return (date.fromisoformat(file.stem) for file in (self.tables / table).glob(WEEKS))

    def written(self, *tables: str) -> tuple[int, ...]:
        """When public tables were written: what was computed from them holds until this changes."""
        files = map(self.public_file, tables)
        return tuple(file.stat().st_mtime_ns if file.exists() else 0 for file in files)

    @contextmanager
    def locked(self, name: str) -> Iterator[None]:
        """One process at a time works on what is named; the lock ends with its process."""
        self.locks.mkdir(mode=0o700, exist_ok=True)
        with FileLock(self.locks / f"{name}.lock", mode=0o600):
            yield

    def _write(self, file: Path, frame: pl.DataFrame) -> None:
        make_folder(file.parent)
        close_to_others(file.parent)
        write_durably(file, parquet_bytes(frame))


def read_whole(file: Path) -> pl.DataFrame:
    """A table or a week of one, or an error that says how to mend it."""
    if not file.exists():
        raise BadInput(f"{file} must be there: materialise the public assets first, or the whole week")
    try:
        return pl.read_parquet(file.read_bytes())
    except POLARS_DAMAGE as error:
        # Of several damaged weeks each is made again by its own run, so the week is named.
        week = "" if file.parent.name == "tables" else f" --from {file.stem} --to {file.stem}"
        raise BadInput(
            f"{file} must be a Parquet file, but it is damaged ({type(error).__name__}): `density rebuild{week}` makes "
            "it again from stored draws, at no charge"
        ) from None
