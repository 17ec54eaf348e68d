"""Trials of change: does an estimate follow what happens, or what has always been?

Errors are told where and when something happens, in the same towers at other hours, elsewhere, and in the week after:
an outage that is over must not be remembered, and a stadium must not raise its neighbourhood.
"""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from density_assets.calendar import HOURS
from density_assets.research.plots.curves import dots, story
from density_assets.research.results import markdown
from density_assets.research.study import Row, Study, averaged
from density_assets.research.weeks.cities import (
    NAMES,
    Cities,
    CountedCity,
    cities_made_from,
    describe_cities,
    load_cities,
)
from density_assets.research.weeks.counting import WeeksPromise, measure
from density_assets.research.weeks.estimators import (
    COMPARED,
    LEARNING_NAME,
    WITHIN,
    WeekEstimate,
    coverage,
    week_by_week,
)
from density_assets.research.weeks.trials import FIRST, HELD_OUT, LAST, THURSDAY, TRIALS, Happenings, Stage, happen
from density_assets.series import Flags, Floats

EVERY = TRIALS | HELD_OUT
PROMISE = WeeksPromise(0.3, weight_l=20)
SMALL = 0.3  # of the mean of the towers concerned: errors of smaller counts are measured beside it
METRICS = ("error", "coverage")
CONCERNED, SAME_TOWERS, ELSEWHERE, AFTER = "concerned", "same towers", "elsewhere", "week after"
SLACK, MARGIN = 1.1, 0.01  # an estimate may be that much worse than the week alone


def stage_trial(city: CountedCity, trial: str, seed: int) -> tuple[Happenings, CountedCity]:
    """What happens, and the weeks as they are then counted."""
    dice = np.random.default_rng([seed, list(EVERY).index(trial)])
    happenings = EVERY[trial](Stage(city.ground.towers.xy, city.weeks[0].original, dice))
    weeks = [
        happen(week, happenings[number]) if number in happenings else week
        for number, week in enumerate(city.weeks, start=1)
    ]
    return happenings, CountedCity(city.name, city.ground, tuple(weeks))


def once(cities: Cities, point: Row, seed: int) -> list[Row]:
    """Error and coverage of each estimator, week by week from the change on."""
    if point["city"] not in cities:
        return []
    usual = cities[point["city"]]
    happenings, city = stage_trial(usual, point["trial"], seed)
    measured = [measure(week, PROMISE, (seed, number)) for number, week in enumerate(city.weeks, start=1)]
    rows = []
    for name, estimator in COMPARED.items():
        for number, estimate in enumerate(week_by_week(estimator, measured, city.ground.towers.xy), start=1):
            judged = list(_judged(happenings, number))
            true, ordinary = city.weeks[number - 1].original, usual.weeks[number - 1].original
            found = _scores(true, ordinary, estimate, judged) if judged else ()
            rows += [{"estimator": name, "week": number, **row} for row in found]
    return rows


def _judged(happenings: Happenings, number: int) -> Iterator[tuple[str, Flags]]:
    """Which towers and hours are looked at in a week, by name."""
    if number >= FIRST and number in happenings:
        concerned = happenings[number].concerned
        towers = np.repeat(concerned.any(axis=1, keepdims=True), HOURS, axis=1)
        parts = {CONCERNED: concerned, SAME_TOWERS: towers & ~concerned, ELSEWHERE: ~towers}
        yield from ((name, mask) for name, mask in parts.items() if mask.any())
    elif number > FIRST and number - 1 in happenings:
        yield AFTER, happenings[number - 1].concerned


def _scores(true: Floats, usual: Floats, estimate: WeekEstimate, judged: list[tuple[str, Flags]]) -> Iterator[Row]:
    """Mean relative error and coverage of each part."""
    series = estimate.series
    variance = estimate.variance_of_sums(np.eye(len(true)), np.eye(HOURS))
    for name, mask in judged:
        floor = SMALL * usual[mask.any(axis=1)].mean()
        error = np.abs(series[mask] - true[mask]) / np.maximum(true[mask], floor)
        yield {
            "where": name,
            "error": float(error.mean()),
            "coverage": coverage(true[mask], series[mask], variance[mask]),
        }


def figures(cities: Cities, results: pl.DataFrame) -> dict[str, Figure]:
    """Errors where something happens; a tower that closes, and a holiday."""
    means = averaged(results.filter(where=CONCERNED), ["city", "trial", "estimator"], METRICS)
    label = "relative error where it happens"
    shown = {
        f"changes_{city}": dots(means.filter(city=city), "trial", "error", "estimator", label=label, log=True)
        for city in means["city"].unique(maintain_order=True)
    }
    first = next(iter(cities.values()))
    return shown | {"closing_tower": _closing_tower(first), "holiday": _holiday(first)}


def _closing_tower(city: CountedCity) -> Figure:
    """Visits of a tower, day by day, around the week in which it closes."""
    happenings, after = stage_trial(city, "closed towers", 0)
    tower = np.flatnonzero(happenings[FIRST].concerned.any(axis=1))[0]
    return _story(
        after, int(tower), np.repeat(np.eye(7), 24, axis=0), range(FIRST - 1, FIRST + 2), "day from week 4 on"
    )


def _holiday(city: CountedCity) -> Figure:
    """The busiest tower on a Thursday that is lived like a Sunday."""
    _, after = stage_trial(city, "holiday Thursday", 0)
    tower = int(np.argmax(city.weeks[0].original.sum(axis=1)))
    return _story(after, tower, np.eye(HOURS)[:, 24 * THURSDAY : 24 * THURSDAY + 24], (FIRST,), "hour of Thursday")


def _story(city: CountedCity, tower: int, periods: Floats, numbers: Sequence[int], unit: str) -> Figure:
    """A tower's visits over the periods of some weeks, as they were and as each estimator tells them."""
    row = np.eye(len(city.ground.towers))[[tower]]
    until = city.weeks[: max(numbers)]
    measured = [measure(week, PROMISE, (0, number)) for number, week in enumerate(until, start=1)]
    truth = np.concatenate([city.weeks[number - 1].original[tower] @ periods for number in numbers])
    lines = {}
    for name, estimator in sorted(COMPARED.items(), key=lambda item: item[0] != LEARNING_NAME):
        estimates = list(week_by_week(estimator, measured, city.ground.towers.xy))
        chosen = [estimates[number - 1] for number in numbers]
        values = np.concatenate([estimate.series[tower] @ periods for estimate in chosen])
        errors = np.concatenate([np.sqrt(estimate.variance_of_sums(row, periods)[0]) for estimate in chosen])
        lines[name] = (values, WITHIN * errors)
    return story(truth, lines, "visits", unit)


def summary(results: pl.DataFrame) -> str:
    """Errors beside those of the week alone and of the mean of weeks, and whether that is good enough."""
    means = averaged(results, ["city", "trial", "where", "estimator"], METRICS)
    rows = [
        _line(str(city), str(trial), part)
        for (city, trial), part in means.group_by("city", "trial", maintain_order=True)
    ]
    text = (
        f"{PROMISE}, weight_l {PROMISE.weight_l}. Mean relative error at towers and hours, in brackets the share of "
        f"95 % intervals that hold: `{LEARNING_NAME}` / week alone / mean of weeks. Changes begin in "
        f"week {FIRST} and last until week {LAST} or are over at once. Enough: at most {SLACK:g} times the "
        f"error of the week alone + {MARGIN:g} where something happens. No estimator was "
        f"designed for {', '.join(HELD_OUT)}."
    )
    head = ("city", "trial", "where it happens", "enough", "same towers, other hours", "elsewhere", "week after")
    return text + "\n\n" + markdown(head, rows, "lll")


def _line(city: str, trial: str, part: pl.DataFrame) -> list[str]:
    found = {(row["where"], row["estimator"]): row for row in part.iter_rows(named=True)}
    limit = SLACK * found[CONCERNED, "week alone"]["error"] + MARGIN
    enough = "yes" if found[CONCERNED, LEARNING_NAME]["error"] <= limit else "no"

    def cell(where: str) -> str:
        rows = [found[where, name] for name in (LEARNING_NAME, "week alone", "mean of weeks") if (where, name) in found]
        return " / ".join(f"{row['error']:.3f} ({row['coverage']:.2f})" for row in rows)

    return [city, trial, cell(CONCERNED), enough, *(cell(where) for where in (SAME_TOWERS, ELSEWHERE, AFTER))]


CHANGES_STUDY = Study(
    name="changes",
    title="Trials of change",
    grid=tuple({"city": city, "trial": trial} for city, trial in product(NAMES, EVERY)),
    load=load_cities(LAST),
    once=once,
    figures=figures,
    summary=summary,
    about=describe_cities,
    repetitions=5,
    made_from=cities_made_from,
)
