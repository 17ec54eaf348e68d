"""A rehearsal before anything is spent: the errors of a city's first weeks, on its own geography with invented people.

No record is read and nothing is charged. Two generators that share no code invent the people, and their weeks are
measured, estimated and compared with what was counted, as weeks of releases are. What they differ by, together with
the luck of the noise, is the interval that is said: a real city is a third one, and may lie outside it.

At most `MOST_SIMULATED` people are simulated; in a larger city their counts are multiplied up to its size. What is then
compared with is rougher than the counts of all would be, so that errors are told larger than they will be, not smaller.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from density_assets.quality.accuracy import mre
from density_assets.research.results import markdown
from density_assets.research.study import Row
from density_assets.research.weeks.cities import (
    TRUNCATED_TO,
    CityPlan,
    CountedCity,
    Generator,
    Ground,
    counted_city,
    truncated_week,
)
from density_assets.research.weeks.counting import WEIGHTS, TruncatedCounts, WeekCounts, WeeksPromise, measure
from density_assets.research.weeks.estimators import LEARNING, week_by_week
from density_assets.research.weeks.sizes_study import SmallCity, released_under
from density_assets.series import Floats

MOST_SIMULATED = 2_000_000
GENERATORS: tuple[Generator, ...] = ("people", "patchwork")
LEARNER = "lowrank"  # the scheme of the estimator of releases
WEEKS = (1, 4, 8, 12)  # that are told: now, and later
BY = ["scheme", "l", "epsilon", "week"]
METRICS = {"mre": "mean relative error", "wrong": "visits too many or too few"}


@dataclass(frozen=True)
class Rehearsal:
    """What is tried.

    people: of the city; a public figure. learn: values of weight_l of the scheme that learns from weeks.
    beside: schemes that take every week by itself, with 30 visits per user.
    weeks: which are told, the last one being the number of weeks that are simulated.
    """

    people: int
    epsilons: tuple[float, ...] = (0.1, 0.3, 1.0)
    delta: float = 1e-7
    learn: tuple[int, ...] = WEIGHTS
    beside: tuple[str, ...] = ("efpag",)
    weeks: tuple[int, ...] = WEEKS
    generators: tuple[Generator, ...] = GENERATORS
    seed: int = 2007

    @property
    def steps(self) -> int:
        """How many errors are worked out for each generator, for progress."""
        return len(self.epsilons) * (len(self.learn) + len(self.beside))


QUICK: dict[str, Any] = {"learn": (20,), "beside": (), "weeks": (1, 4), "generators": ("people",)}  # what differs


def rehearse(ground: Ground, asked: Rehearsal, folder: Path, report: Callable[[str], None]) -> pl.DataFrame:
    """The errors of weeks, one row for each way of making them, week and generator.

    folder: where simulated weeks are kept meanwhile.
    """
    rows: list[Row] = []
    for generator in asked.generators:
        users = min(asked.people, MOST_SIMULATED)
        plan = CityPlan(f"rehearsal_{generator}", generator, ground, asked.seed, users)
        city = counted_city(plan, max(asked.weeks), folder, report)
        small = SmallCity(city, truncated_week(plan, folder)) if asked.beside else None
        times = asked.people / users
        for done, found in enumerate(_errors(_scaled(city, times), _scaled_first(small, times), asked), start=1):
            rows += [{"generator": generator, **row} for row in found]
            report(f"{generator}: {done} of {asked.steps} ways to release tried")
    return pl.DataFrame(rows)


def _errors(city: CountedCity, first: SmallCity | None, asked: Rehearsal) -> Iterator[list[Row]]:
    for epsilon, weight_l in product(asked.epsilons, asked.learn):
        promise = WeeksPromise(epsilon, asked.delta, weight_l=weight_l)
        yield [{"scheme": LEARNER, "l": weight_l, "epsilon": epsilon, **row} for row in _learning(city, promise, asked)]
    for epsilon, name in product(asked.epsilons, asked.beside):
        assert first is not None
        density = released_under(first, name, WeeksPromise(epsilon, asked.delta), asked.seed)
        error = score_map(city.ground.to_cells @ city.weeks[0].original, density)
        yield [{"scheme": name, "l": TRUNCATED_TO, "epsilon": epsilon, "week": week, **error} for week in asked.weeks]


def _learning(city: CountedCity, promise: WeeksPromise, asked: Rehearsal) -> Iterator[Row]:
    measured = [measure(week, promise, (asked.seed, number)) for number, week in enumerate(city.weeks, start=1)]
    estimates = week_by_week(LEARNING, measured, city.ground.towers.xy)
    for number, (week, estimate) in enumerate(zip(city.weeks, estimates, strict=True), start=1):
        if number in asked.weeks:
            mapping = city.ground.to_cells
            yield {"week": number, **score_map(mapping @ week.original, mapping @ estimate.series)}


def score_map(true: Floats, density: Floats) -> Row:
    """How far a map of cells and hours is off: relative to each count, and as a share of all visits."""
    return {"mre": mre(true, density), "wrong": float(np.abs(density - true).sum() / max(true.sum(), 1.0))}


def _scaled(city: CountedCity, times: float) -> CountedCity:
    return replace(city, weeks=tuple(scaled_week(week, times) for week in city.weeks)) if times > 1 else city


def scaled_week(week: WeekCounts, times: float) -> WeekCounts:
    """The counts of so many times the people: all of them are sums over people."""
    return WeekCounts(
        original=week.original * times,
        weighted={weight_l: series * times for weight_l, series in week.weighted.items()},
        tower_totals=week.tower_totals * times,
        visits=week.visits * times,
    )


def _scaled_first(small: SmallCity | None, times: float) -> SmallCity | None:
    if small is None:
        return None
    truncated = small.truncated
    more = TruncatedCounts(truncated.truncated * times, np.rint(truncated.sampled * times).astype(np.int64))
    first = replace(small.city, weeks=(scaled_week(small.city.weeks[0], times),))
    return SmallCity(first, more)


def average_errors(errors: pl.DataFrame) -> pl.DataFrame:
    """One row for each way and week: the mean of each error, and the lowest and highest that came out."""
    said = [
        each
        for name in METRICS
        for each in (
            pl.col(name).mean(),
            pl.col(name).min().alias(f"{name}_low"),
            pl.col(name).max().alias(f"{name}_high"),
        )
    ]
    return errors.group_by(BY, maintain_order=True).agg(*said).sort("epsilon", maintain_order=True)


def summary(table: pl.DataFrame, weeks: Sequence[int]) -> str:
    """The table as text: a row for each way, a column for each week."""
    rows = []
    for (scheme, l, epsilon), part in table.group_by("scheme", "l", "epsilon", maintain_order=True):
        by_week = {row["week"]: row for row in part.iter_rows(named=True)}
        for name, meaning in METRICS.items():
            rows.append([f"{epsilon:g}", str(scheme), str(l), meaning, *(_cell(by_week[week], name) for week in weeks)])
    head = ("epsilon", "scheme", "l", "error", *(f"week {week}" for week in weeks))
    return markdown(head, rows, "llll")


def _cell(row: Row, name: str) -> str:
    mean, low, high = (row[each] for each in (name, f"{name}_low", f"{name}_high"))
    return f"{mean:.0%}" if low == high else f"{mean:.0%} ({low:.0%} to {high:.0%})"
