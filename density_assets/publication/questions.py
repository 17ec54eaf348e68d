"""Questions to a release: visits of some cells or regions in some hours, with their interval, from its files alone.

Whatever is computed from a release costs no privacy, so any number of questions may be asked: this is what a service
that answers queries on records cannot offer (Acs, Biczók & Castelluccia, §3.1).
"""

import math
import re
from collections.abc import Iterator, Sequence
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
from density_assets.geography.regions import Regions
from density_assets.publication.files import ERRORS_OF_SUMS, counts_and_errors
from density_assets.publication.people import people_of_sums
from density_assets.publication.public_inputs import INPUTS_FILE, PublicInputs, inputs_in
from density_assets.publication.sum_errors import WeekCounts, summary_from
from density_assets.publication.sums import interval
from density_assets.publication.verification import content_of

Floats = NDArray[np.float64]

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
    found = [(match, file) for file in folder.glob("density_*.parquet") if (match := FILE.fullmatch(file.name))]
    of_week = [(_age(match), file) for match, file in found if week is None or match[2] == str(week)]
    if not of_week:
        wanted = "a released week" if week is None else f"the released week of {week}"
        raise BadInput(f"a question must be about {wanted}, but {folder} has no counts of one: density release")
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


def asked(text: str, released: Released) -> Question:
    """The question that a person types."""
    found = PART.findall(text)
    parts = dict(found)
    if not found or len(parts) != len(found) or PART.sub("", text).strip() or {"cells", "region"} <= parts.keys():
        raise BadInput(f"a question must name cells and hours, each once, got {text!r}. {HOW}")
    if "region" in parts:
        cells = _cells_of_regions(parts["region"], released.inputs.regions)
    else:
        cells = _cells(parts.get("cells", "all"), released.cell_ids)
    return Question(cells, _hours(parts.get("hours", "all")))


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
    found = people_of_sums(released.inputs.factors, released.counts, released.people, area, period)
    low, high = (None if np.isnan(end).any() else int(end.item()) for end in (found.low, found.high))
    return int(found.number.item()), low, high


def _cells(text: str, cell_ids: pl.Series) -> tuple[int, ...]:
    if text == "all":
        return tuple(range(len(cell_ids)))
    number_of = {name: number for number, name in enumerate(cell_ids)}
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in number_of:
            raise BadInput(f"cells must be cells of the release, got {name!r}{nearest(name, number_of) or '.'} {HOW}")
    return tuple(sorted({number_of[name] for name in names}))


def _cells_of_regions(text: str, regions: Regions | None) -> tuple[int, ...]:
    """The cells of regions by identifier, or by name."""
    if regions is None:
        raise BadInput("region must be one of the release, but this one was published without: ask for cells")
    number_of = {name: number for names in (regions.names, regions.ids) for number, name in enumerate(names)}
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in number_of:
            raise BadInput(f"region must be one of the release, got {name!r}{nearest(name, number_of) or '.'} {HOW}")
    return tuple(np.flatnonzero(np.isin(regions.of_cell, [number_of[name] for name in names])).tolist())


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
    found = SPAN.fullmatch(text)
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
    if not first <= last < below:
        raise BadInput(f"hours must be known hours, got {part!r}. {HOW}")
    return range(first, last + 1)


def _read(file: Path) -> pl.DataFrame:
    try:
        return pl.read_parquet(file)
    except POLARS_DAMAGE:
        raise BadInput(f"{file} must be a Parquet file of a release, and could not be read as one") from None
