"""Event files as operators give them, written from events a reader can check, and the visits they stand for.

An entry is an event of one identifier or a line that is broken; either may belong to somebody, and leaves with them.
Where an entry stands (which file, which line) is drawn once for all entries, so that taking one identifier's away moves
nobody else's. What the files must be read as is computed here a second time, with Python's own calendar.
"""

import gzip
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import polars as pl

ZONE = ZoneInfo("Europe/Paris")
SPELLINGS = ("wall clock", "wall clock, T", "fraction", "offset", "Z", "seconds", "milliseconds")


@dataclass(frozen=True)
class Event:
    """One device at one antenna: seconds of UTC, and how the file spells them."""

    user: str | int
    moment: int
    antenna: str
    spelling: str = "wall clock"
    quoted: bool = False


@dataclass(frozen=True)
class BrokenLine:
    """Bytes that are no event; `user` is whoever they belong to, none if nobody."""

    line: bytes
    user: str | int | None = None


Entry = Event | BrokenLine


@dataclass(frozen=True)
class Layout:
    """How entries become files.

    kind: csv, csv.gz or parquet. last_end: whether the last line of a file ends.
    seed: decides which entry stands where, and the order of columns.
    """

    kind: str = "csv"
    files: int = 1
    delimiter: str = ","
    end: str = "\n"
    last_end: bool = True
    mark: bool = False  # a byte order mark before the first line
    seed: int = 0

    def write(self, folder: Path, entries: Sequence[Entry], without: str | int | None = None) -> list[Path]:
        """The files of these entries, those of one identifier left out; every file is there, if only its first line."""
        folder.mkdir(parents=True)
        chance = random.Random(self.seed)
        columns = chance.sample(["user_id", "time", "tower_id", "imei"], 4)
        placed = [(chance.randrange(self.files), chance.random(), entry) for entry in entries]
        kept = [place for place in placed if without is None or place[2].user != without]
        kept.sort(key=lambda place: place[:2])
        numbered = any(isinstance(entry.user, int) for entry in entries)
        files = [folder / f"part-{number}.{self.kind}" for number in range(self.files)]
        for number, file in enumerate(files):
            here = [entry for part, _, entry in kept if part == number]
            if self.kind == "parquet":
                _write_parquet(file, here, numbered, zoned=bool(self.seed % 2))
            else:
                self._csv(file, here, columns)
        return files

    def _csv(self, file: Path, entries: list[Entry], columns: list[str]) -> None:
        lines = [self.delimiter.join(columns).encode(), *(self._line(entry, columns) for entry in entries)]
        end = self.end.encode()
        content = ("\ufeff".encode() if self.mark else b"") + end.join(lines) + (end if self.last_end else b"")
        file.write_bytes(gzip.compress(content, 1) if file.suffix == ".gz" else content)

    def _line(self, entry: Entry, columns: list[str]) -> bytes:
        if isinstance(entry, BrokenLine):
            return entry.line
        name = str(entry.user)
        user = '"' + name.replace('"', '""') + '"' if entry.quoted else name
        stray = "" if '"' in name else '"'  # two stray quotes in a line could be meant as a pair
        values = {"user_id": user, "time": spelled(entry), "tower_id": entry.antenna, "imei": f"{stray}x"}
        return self.delimiter.join(values[column] for column in columns).encode()


def _write_parquet(file: Path, entries: list[Entry], numbered: bool, zoned: bool) -> None:
    """Rows as entries stand, broken lines with nothing in them; types do not depend on who is in a file."""
    events = [entry if isinstance(entry, Event) else None for entry in entries]
    moments = pl.Series("time", [event and 1000 * event.moment for event in events], dtype=pl.Int64)
    stamps = moments.cast(pl.Datetime("ms")).dt.replace_time_zone("UTC").dt.convert_time_zone(str(ZONE))
    users = pl.Series("user_id", [event and event.user for event in events], dtype=pl.Int64 if numbered else pl.String)
    antennas = pl.Series("tower_id", [event and event.antenna for event in events], dtype=pl.String)
    pl.DataFrame([antennas, stamps if zoned else moments, users]).write_parquet(file)


def spelled(event: Event) -> str:
    """The moment as text."""
    local = datetime.fromtimestamp(event.moment, UTC).astimezone(ZONE)
    wall = local.replace(tzinfo=None)
    return {
        "wall clock": str(wall),
        "wall clock, T": wall.isoformat(),
        "fraction": f"{wall}.750",
        "offset": local.isoformat(),
        "Z": datetime.fromtimestamp(event.moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "seconds": str(event.moment),
        "milliseconds": str(1000 * event.moment),
    }[event.spelling]


def moment(week: date, hour: int, second: int = 0) -> int:
    """Seconds of UTC, so many hours as a stopwatch counts them after the week has begun."""
    return int(datetime.combine(week, time(), ZONE).timestamp()) + 3600 * hour + second


def visits(entries: Sequence[Entry], week: date, sites: dict[str, int]) -> set[tuple[str | int, int, int]]:
    """What entries stand for, computed without the software: (user, hour of the week, site)."""
    found = set()
    for entry in entries:
        if isinstance(entry, BrokenLine) or entry.antenna not in sites:
            continue
        wall = datetime.fromtimestamp(entry.moment, UTC).astimezone(ZONE)
        if timedelta() <= (since := wall.date() - week) < timedelta(days=7):
            found.add((entry.user, 24 * since.days + wall.hour, sites[entry.antenna]))
    return found
