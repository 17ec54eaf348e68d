"""Questions to a release: visits of some cells in some hours, with their interval, from published files alone.

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
from density_assets.publication.files import ERRORS_OF_SUMS
from density_assets.publication.sum_errors import summary_from
from density_assets.publication.vintages import WIDE

Floats = NDArray[np.float64]

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
NAMED = {"all": range(7), "weekdays": range(5), "weekend": range(5, 7)} | {day: [n] for n, day in enumerate(DAYS)}
PART = re.compile(r"\b(cells|hours)=(.*?)\s*(?=$|\b(?:cells|hours)=)")  # names of cells may hold spaces
FILE = re.compile(r"density_(final_)?(\d{4}-\d\d-\d\d)(?:_r(\d+))?(?:_to_(\d{4}-\d\d-\d\d))?\.parquet")
SPAN = re.compile(r"([0-9]{1,3})(?:-([0-9]{1,3}))?")
HOW = (
    'Ask like this: "cells=C0001,C0002 hours=sat:18-23". cells: identifiers, or all. hours: hours of the week from 0 '
    "to 167, mon … sun, weekdays, weekend or all, each also with hours of the day from 0 to 23, as in weekdays:7-9 "
    "(three of them)"
)


@dataclass(frozen=True)
class Question:
    """Which cells, by their place in the release, and which hours of the week."""

    cells: tuple[int, ...]
    hours: tuple[int, ...]


@dataclass(frozen=True)
class Released:
    """The counts of one week, (cells, hours), their standard errors, and what tells the error of sums, if it is there.

    happens: whether an hour of the week does, when clocks change; counts of one that does not mean nothing.
    """

    cell_ids: pl.Series
    visits: Floats
    error: Floats
    sums: Summary | None
    happens: NDArray[np.bool_]


@dataclass(frozen=True)
class Answer:
    """Visits and their standard error; none where the release does not tell it."""

    visits: int
    error: float | None

    @property
    def interval(self) -> tuple[int, int] | None:
        """Where the sum lies with 95 % confidence; no sum of visits is negative."""
        if self.error is None:
            return None
        return max(0, math.floor(self.visits - WIDE * self.error)), math.ceil(self.visits + WIDE * self.error)


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
    visits, error = (
        wide[name].to_numpy().astype(np.float64).reshape(-1, HOURS) for name in ("count", "standard_error")
    )
    if not (wide["hour"].to_numpy().reshape(-1, HOURS) == np.arange(HOURS)).all() or not np.isfinite(error).all():
        raise BadInput(f"{file.name} must have every hour of every cell once, with its error: it is damaged")
    happens = np.ones(HOURS, dtype=bool)
    if "timestamp" in wide.columns:
        happens = np.asarray(wide["timestamp"].is_not_null().to_numpy().reshape(-1, HOURS).any(axis=0))
    return Released(cell_ids, visits, error, _sums_beside(file, cell_ids), happens)


def _sums_beside(file: Path, cell_ids: pl.Series) -> Summary | None:
    """What tells the error of sums of a file of counts; none where no such file lies beside it."""
    stem, suffix = ERRORS_OF_SUMS
    beside = file.with_name(f"{file.name.removesuffix('.parquet').replace('density', stem, 1)}.{suffix}")
    if FILE.fullmatch(file.name) is None or not beside.exists():
        return None
    return summary_from(_read(beside), cell_ids)


def asked(text: str, cell_ids: pl.Series) -> Question:
    """The question that a person types."""
    found = PART.findall(text)
    parts = dict(found)
    if not found or len(parts) != len(found) or PART.sub("", text).strip():
        raise BadInput(f"a question must name cells and hours, each once, got {text!r}. {HOW}")
    return Question(_cells(parts.get("cells", "all"), cell_ids), _hours(parts.get("hours", "all")))


def answer(released: Released, question: Question) -> Answer:
    """The sum of a question with its error; hours that do not happen are left out."""
    cells, hours = np.array(question.cells), np.array([hour for hour in question.hours if released.happens[hour]])
    if not len(hours):
        raise BadInput("a question must be about an hour that happens, got one that clocks leave out in this week")
    visits = int(released.visits[np.ix_(cells, hours)].sum())
    if released.sums is None:
        alone = len(cells) == len(hours) == 1
        return Answer(visits, float(released.error[cells[0], hours[0]]) if alone else None)
    area, period = np.zeros((1, len(released.cell_ids))), np.zeros((HOURS, 1))
    area[0, cells], period[hours, 0] = 1.0, 1.0
    return Answer(visits, float(np.sqrt(released.sums.variance(released.visits, released.error, area, period).item())))


def _cells(text: str, cell_ids: pl.Series) -> tuple[int, ...]:
    if text == "all":
        return tuple(range(len(cell_ids)))
    place = {name: number for number, name in enumerate(cell_ids)}
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in place:
            raise BadInput(f"cells must be cells of the release, got {name!r}{nearest(name, place)}. {HOW}")
    return tuple(sorted({place[name] for name in names}))


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
