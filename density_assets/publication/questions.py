"""Questions to a release: visits of some cells or regions in some hours, with their interval, from its files alone.

Computing from a release costs no privacy, so any number of questions may be asked: this is what a service
that answers queries on records cannot offer (Acs, Biczók & Castelluccia, §3.1).
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from density_assets.calendar import HOURS
from density_assets.damage import POLARS_DAMAGE
from density_assets.errors import BadInput, nearest
from density_assets.estimation.weeks.summary import Summary
from density_assets.publication.files import ERRORS_OF_SUMS, counts_and_errors
from density_assets.publication.people import people_of_sums
from density_assets.publication.public_inputs import INPUTS_FILE, PublicInputs, inputs_in
from density_assets.publication.sum_errors import WeekCounts, summary_from
from density_assets.publication.sums import interval
from density_assets.publication.verification import content_of
from density_assets.series import Floats

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
NAMED = {"all": range(7), "weekdays": range(5), "weekend": range(5, 7)} | {day: [n] for n, day in enumerate(DAYS)}
PART = re.compile(r"\b(cells|region|hours)=(.*?)\s*(?=$|\b(?:cells|region|hours)=)")  # names of cells may hold spaces
FILE = re.compile(r"density_(final_)?(\d{4}-\d\d-\d\d)(?:_r(\d+))?(?:_to_(\d{4}-\d\d-\d\d))?\.parquet")
SPAN = re.compile(r"([0-9]{1,3})(?:-([0-9]{1,3}))?")
HOW = (
    'Ask like this: "cells=C0001,C0002 hours=sat:18-23". cells: identifiers, or all; or region, by identifier or name. '
    "hours: hours of the week from 0 to 167, mon … sun, weekdays, weekend or all, each also with hours of the day from "
    "0 to 23, as in weekdays:7-9 (three of them)"
)


@dataclass(frozen=True)
class Question:
    """Which cells, by their number in the release, and which hours of the week."""

    cells: tuple[int, ...]
    hours: tuple[int, ...]


@dataclass(frozen=True)
class Released:
    """The counts of one week, of which cells they are, and the regions and factors that were published with them.

    people: of each cell and hour, where factors were published.
    """

    cell_ids: pl.Series
    counts: WeekCounts
    inputs: PublicInputs
    people: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class Answer:
    """Visits and their standard error; none where the release does not tell it.

    people: how many, at least and at most, where the release states factors; without bounds where it tells no error.
    """

    visits: int
    error: float | None
    people: tuple[int, int | None, int | None] | None = None

    @property
    def interval(self) -> tuple[int, int] | None:
        """Where the sum lies with 95 % confidence; no sum of visits is negative."""
        return None if self.error is None else interval(self.visits, self.error)


def newest_counts(folder: Path, week: date | None = None) -> Path:
    """The file of counts of a week, by default the last: its last revision, and of that the last final estimate."""
    files = [(match, file) for file in folder.glob("density_*.parquet") if (match := FILE.fullmatch(file.name))]
    of_week = [(_age(match), file) for match, file in files if week is None or match[2] == str(week)]
    if not of_week:
        which = "a released week" if week is None else f"the released week of {week}"
        raise BadInput(f"a question must be about {which}, but {folder} has no counts of one: density release")
    return max(of_week)[1]


def _age(name: re.Match[str]) -> tuple[str, int, str]:
    return name[2], int(name[3] or 1), name[4] or ""


def read_released(file: Path) -> Released:
    """A file of counts (`density_….parquet`), with the file of errors of sums beside it where there is one."""
    table = _read(file)
    if missing := {"cell_id", "hour", "count", "standard_error"} - set(table.columns):
        raise BadInput(f"{file.name} must be a table of released counts, got one without {', '.join(sorted(missing))}")
    wide = table.sort("cell_id", "hour")
    cell_ids = wide["cell_id"].unique(maintain_order=True)
    if len(wide) != len(cell_ids) * HOURS:
        raise BadInput(
            f"{file.name} must have {HOURS} hours of every cell, got {len(wide):,} rows: the file is damaged"
        )
    visits, error = (numbers.astype(np.float64) for numbers in counts_and_errors(wide))
    if not (wide["hour"].to_numpy().reshape(-1, HOURS) == np.arange(HOURS)).all() or not np.isfinite(error).all():
        raise BadInput(f"{file.name} must have every hour of every cell once, with its error: it is damaged")
    happens = np.ones(HOURS, dtype=bool)
    if "timestamp" in wide.columns:
        happens = np.asarray(wide["timestamp"].is_not_null().to_numpy().reshape(-1, HOURS).any(axis=0))
    counts = WeekCounts(visits, error, _sums_beside(file, cell_ids), happens)
    people = wide["people"].to_numpy().reshape(-1, HOURS) if "people" in wide.columns else None
    return Released(cell_ids, counts, _inputs_beside(file, cell_ids), people)


def _sums_beside(file: Path, cell_ids: pl.Series) -> Summary | None:
    """What tells the error of sums of a file of counts; none where no such file lies beside it."""
    beside = _beside(file, *ERRORS_OF_SUMS)
    return None if beside is None else summary_from(_read(beside), cell_ids)


def _inputs_beside(file: Path, cell_ids: pl.Series) -> PublicInputs:
    """The regions and factors that were published with a file of counts; none where no such file lies beside it."""
    beside = _beside(file, *INPUTS_FILE)
    return PublicInputs() if beside is None else inputs_in(content_of(beside), cell_ids.to_list())


def _beside(file: Path, stem: str, suffix: str) -> Path | None:
    """Another file of the same release; none where there is no such file."""
    beside = file.with_name(f"{file.name.removesuffix('.parquet').replace('density', stem, 1)}.{suffix}")
    return beside if FILE.fullmatch(file.name) and beside.exists() else None


def parse_question(text: str, released: Released) -> Question:
    """The question that a person types."""
    matches = PART.findall(text)
    parts = dict(matches)
    if not parts or len(parts) != len(matches) or PART.sub("", text).strip() or {"cells", "region"} <= parts.keys():
        raise BadInput(f"a question must name cells and hours, each once, got {text!r}. {HOW}")
    return Question(tuple(_cells(parts, released)), _hours(parts.get("hours", "all")))


def _cells(parts: Mapping[str, str], released: Released) -> list[int]:
    """The cells that a question names; those of regions by identifier, or by name."""
    if "region" in parts:
        regions = released.inputs.regions
        if regions is None:
            raise BadInput("region must be one of the release, but this one was published without: ask for cells")
        number_of = {name: number for names in (regions.names, regions.ids) for number, name in enumerate(names)}
        chosen = _numbers(parts["region"], number_of, "region must be one")
        return [int(cell) for cell in np.flatnonzero(np.isin(regions.of_cell, chosen))]
    if parts.get("cells", "all") == "all":
        return list(range(len(released.cell_ids)))
    return _numbers(parts["cells"], {name: n for n, name in enumerate(released.cell_ids)}, "cells must be cells")


def answer(released: Released, question: Question) -> Answer:
    """The sum of a question with its error; hours that do not happen are left out."""
    week, cells = released.counts, np.array(question.cells)
    hours = np.array([hour for hour in question.hours if week.happens[hour]])
    if not len(hours):
        raise BadInput("a question must be about an hour that happens, got one that clocks leave out in this week")
    area, period = np.zeros((1, len(released.cell_ids))), np.zeros((HOURS, 1))
    area[0, cells], period[hours, 0] = 1.0, 1.0
    visits, error = int((area @ week.visits @ period).item()), week.error_of(area, period).item()
    return Answer(visits, None if math.isnan(error) else error, _people(released, area, period))


def _people(released: Released, area: Floats, period: Floats) -> tuple[int, int | None, int | None] | None:
    """People of a sum and their interval; none where the release states no factors."""
    if released.inputs.factors is None or released.people is None:
        return None
    people = people_of_sums(released.inputs.factors, released.counts, released.people, area, period)
    low, high = (None if np.isnan(end).any() else int(end.item()) for end in (people.low, people.high))
    return int(people.number.item()), low, high


def _numbers(text: str, number_of: Mapping[str, int], kind: str) -> list[int]:
    """The numbers of what a list names."""
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in number_of:
            raise BadInput(f"{kind} of the release, got {name!r}{nearest(name, number_of) or '.'} {HOW}")
    return sorted({number_of[name] for name in names})


def _hours(text: str) -> tuple[int, ...]:
    return tuple(sorted({hour for part in text.split(",") for hour in _slots(part)}))


def _slots(part: str) -> Iterator[int]:
    """Hours of the week that one part names: 30, 30-41, sat, sat:18-23."""
    days, colon, clock = part.strip().partition(":")
    if days in NAMED:
        yield from (24 * day + hour for day in NAMED[days] for hour in _between(clock if colon else "0-23", 24, part))
    else:
        yield from _between(part.strip(), HOURS, part)


def _between(text: str, below: int, part: str) -> Sequence[int]:
    span = SPAN.fullmatch(text)
    first, last = (int(span[1]), int(span[2] or span[1])) if span else (1, 0)
    if not first <= last < below:
        raise BadInput(f"hours must be known hours, got {part!r}. {HOW}")
    return range(first, last + 1)


def _read(file: Path) -> pl.DataFrame:
    try:
        return pl.read_parquet(file)
    except POLARS_DAMAGE:
        raise BadInput(f"{file} must be a Parquet file of a release, and could not be read as one") from None
