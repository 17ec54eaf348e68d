"""What a first settings file says of records: by their paths and the form of a few, never by a value."""

import glob
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import chain
from pathlib import Path
from typing import Any

from density_assets.cli.inspection import MOST_FILES
from density_assets.errors import BadInput
from density_assets.records.description import Description, describe, named_as
from density_assets.records.files import of_any_week
from density_assets.records.formats import named_if_damaged
from density_assets.records.verdict import time_format
from density_assets.settings.city import CitySettings

PLACEHOLDER = re.compile(r"\{(week|year|month|day)\}")
IN_PATHS = {"week": r"(?P<week>\d{4}-\d\d-\d\d)", "year": r"(?P<year>\d{4})", "month": r"(?P<month>\d\d?)"} | {
    "day": r"(?P<day>\d\d?)"
}
HIVE = "={year}"  # in paths of folders as Spark writes them
MARKER = "_SUCCESS"  # beside files that are all there, unless settings say otherwise
BY_HAND = "complete/{week}"


@dataclass(frozen=True)
class Beginning:
    """What a person begins a city with: of cells and a grid one, of visits and users one.

    boundary: within which a grid's squares are the city's; without one, they lie around the antennas.
    visits: a pattern of records. users: how many people to simulate, where there are no records.
    """

    towers: Path
    cells: Path | None = None
    grid: str | None = None
    boundary: Path | None = None
    visits: str | None = None
    users: int | None = None

    @property
    def areas(self) -> Path | None:
        """The file that says where the city is, if one does."""
        return self.boundary if self.cells is None else self.cells

    @property
    def geography(self) -> list[Path]:
        """The public files."""
        return [self.towers, *(() if self.areas is None else (self.areas,))]


@dataclass(frozen=True)
class Guess:
    """One line of [city]: what it would say, and why; without a value nothing could be guessed."""

    key: str
    value: str | None
    why: str


def first_of(columns: Sequence[str], usual: Sequence[str]) -> str | None:
    """The column with the first of the usual names, else the first column."""
    return named_as(columns, usual) or next(iter(columns), None)


def path_from(path: Path, out: Path) -> str:
    """As the settings file writes it: from its folder on, if it lies below, else whole."""
    whole, folder = Path(os.path.abspath(path)), Path(os.path.abspath(out)).parent
    return whole.relative_to(folder).as_posix() if whole.is_relative_to(folder) else str(whole)


def samples_of(visits: str) -> list[Path]:
    """The first files that a pattern names, whatever its placeholders stand for."""
    named = [Path(name) for name in sorted(glob.glob(of_any_week(visits), recursive=True))]
    files = [file for file in named if file.is_file() and not file.name.startswith(("_", "."))]
    if not files:
        found = f"the folder {visits}" if Path(visits).is_dir() else f"none at {visits}"
        raise BadInput(
            f"--visits must name at least one file, found {found}: give a pattern of files such as "
            "'cdr/{week}/*.csv', in quotes, with {week} or {day} in it"
        )
    return files[:MOST_FILES]


def sample_of(visits: str) -> Description:
    """The first of those files that has a record, and what it is taken for; the first of all if none has."""
    files = samples_of(visits)
    with named_if_damaged(files):
        each = (describe(file, CitySettings.model_construct()) for file in files)
        first = next(each)
        return next((one for one in chain([first], each) if one.sampled), first)


def guessed_visits(out: Path, visits: str, found: Description) -> Iterator[Guess]:
    """Yield the lines about records, but for the first week.

    found: what one of the files is taken for.
    """
    yield Guess("visits", _pattern(visits, out), _kind(found))
    usual, pattern = _usual(found.times), time_format(found)
    for role, key in (("user", "visit_user"), ("time", "visit_time"), ("tower", "visit_tower")):
        forms: dict[str, Mapping[Any, int]] = {"user": found.identifiers, "time": found.times}
        why = "as visit_time_format says" if role == "time" and pattern else _usual(forms.get(role, {}))
        yield Guess(key, found.roles.get(role), why or f"identifiers of {'antennas' if role == 'tower' else 'people'}")
    if "date" in found.roles and usual == "time of day":
        yield Guess("visit_date", found.roles["date"], "the day stands in a column of its own")
    if pattern is not None:
        yield Guess("visit_time_format", pattern, "the year comes last; look whether the day comes before the month")
    if (usual == "without a zone" and HIVE in visits) or found.times_are_utc:
        yield Guess("visit_timezone", "UTC", "times carry no zone, and Spark, which writes such files, means UTC")
    if not _says_complete(visits):
        yield Guess(
            "visits_complete", BY_HAND, "make this file, empty, once all of a week is there: nothing else says so"
        )


def _says_complete(visits: str) -> bool:
    """Whether a file beside the records would say of one week or day that it is whole, and some day has it.

    One that lies above the folders of weeks or days speaks of all at once, so of none.
    """
    folder, _, _ = visits.rpartition("/")
    if "{day}" in folder:
        return any(Path(found, MARKER).exists() for found in glob.glob(of_any_week(folder), recursive=True))
    return "{week}" in folder


def _usual(forms: Mapping[Any, int]) -> str:
    """The form that most records have: a form that one of them has would tell of that one."""
    known = {form: number for form, number in forms.items() if form != "missing"}
    return str(max(known, key=known.__getitem__)) if known else ""


def _kind(found: Description) -> str:
    text = f"{found.kind}{f' ({found.compression})' if found.compression else ''}"
    return f"{text}, delimiter {found.delimiter!r}" if found.delimiter else text


def first_week_in(visits: str) -> str | None:
    """The Monday of the earliest week or day among the paths that a pattern names; contents are not looked at."""
    parts = PLACEHOLDER.split(visits)
    wild = [re.escape(part).replace(r"\*", "[^/]*") if n % 2 == 0 else part for n, part in enumerate(parts)]
    seen: set[str] = set()
    for number, part in enumerate(wild):
        if number % 2:
            wild[number] = f"(?P={part})" if part in seen else IN_PATHS[part]
            seen.add(part)
    days = [
        day
        for name in glob.glob(of_any_week(visits), recursive=True)
        if (named := re.fullmatch("".join(wild).replace("[^/]*[^/]*", ".*"), name)) and (day := _day(named.groupdict()))
    ]
    first = min(days, default=None)
    return str(first - timedelta(days=first.weekday())) if first else None


def _day(named: Mapping[str, str]) -> date | None:
    try:
        if "week" in named:
            return date.fromisoformat(named["week"])
        return date(int(named["year"]), int(named["month"]), int(named.get("day", 1)))
    except (ValueError, KeyError):
        return None


def _pattern(visits: str, out: Path) -> str:
    return visits if "://" in visits else path_from(Path(visits), out)
