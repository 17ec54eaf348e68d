"""Sums a planner would ask for: whether 95 % intervals of areas and periods of all sizes hold, and how wide they are.

Areas are rows over cells, periods are columns over hours; every area is summed over every period. Intervals are those
of each estimate, and those that readers make with the published table of errors of sums.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from scipy.cluster.vq import kmeans2

from density_assets.calendar import HOURS
from density_assets.estimation.weeks.estimate import WeekEstimate as Learned
from density_assets.estimation.weeks.estimate import WeekEstimate as RealEstimate
from density_assets.estimation.weeks.summary import Summary, summarise
from density_assets.research.plots.curves import dots
from density_assets.research.results import markdown
from density_assets.research.study import Row, Study, averaged
from density_assets.research.weeks.cities import (
    NAMES,
    Cities,
    Ground,
    cities_made_from,
    describe_cities,
    load_cities,
    point_of,
    promise_of,
)
from density_assets.research.weeks.counting import WeeksPromise, measure
from density_assets.research.weeks.estimators import (
    WITH_AND_WITHOUT_PAST,
    WeekEstimate,
    coverage,
    interval_width,
    week_by_week,
)
from density_assets.series import Floats

DISTRICTS = 20
SETS = 30  # random sets of cells, and of hours
CHANCES = (0.02, 0.5)  # of a cell or an hour to be in a random set, from the smallest to the largest set


@dataclass(frozen=True)
class Sums:
    """Areas (k x cells) and periods (168 x p); to_cells: series of cells from series of towers."""

    areas: Floats
    periods: Floats
    to_cells: Floats

    def of(self, series: Floats) -> Floats:
        """The sums of a series of towers by hours."""
        return self.areas @ (self.to_cells @ series) @ self.periods

    def variance(self, estimate: WeekEstimate) -> Floats:
        """As the estimate itself tells it."""
        return estimate.variance_of_sums(self.areas @ self.to_cells, self.periods)


@dataclass(frozen=True, eq=False)
class Published:
    """What a reader has of a week: visits and standard errors of cells, and what the table of errors of sums tells."""

    visits: Floats
    error: Floats
    summary: Summary

    @classmethod
    def of(cls, estimate: RealEstimate, ground: Ground) -> "Published":
        """Before it is a table, which keeps four digits: repetitions run in forks, where polars waits for ever."""
        error = np.sqrt(estimate.variance_of_sums(ground.to_cells, np.eye(HOURS)))
        summary = summarise(estimate.errors, ground.places.to_cells("towers"))
        return cls(ground.to_cells @ estimate.series, error, summary)

    def variance(self, sums: Sums) -> Floats:
        """Of the sums, by the formula that is published."""
        return self.summary.variance(self.visits, self.error, sums.areas, sums.periods)


def kinds_of_sums(ground: Ground, seed: int = 1) -> dict[str, Sums]:
    """Cells by the hour up to the whole week, by name."""
    cells, hours, random = np.eye(len(ground.cells)), np.eye(HOURS), np.random.default_rng(seed)
    days, week, city = np.repeat(np.eye(7), 24, axis=0), np.ones((HOURS, 1)), np.ones((1, len(cells)))
    districts = _districts(ground, seed)
    areas_and_periods = {
        "cells": (cells, hours),
        "cell-days": (cells, days),
        "districts": (districts, hours),
        "district-days": (districts, days),
        "district-weeks": (districts, week),
        "random sets": (_random_sets(len(cells), random), _random_sets(HOURS, random).T),
        "city-hours": (city, hours),
        "whole week": (city, week),
    }
    return {name: Sums(*both, ground.to_cells) for name, both in areas_and_periods.items()}


def score_intervals(sums: Sums, true: Floats, estimate: WeekEstimate, published: Published | None = None) -> Row:
    """Coverage and width of intervals, and the size of errors in standard errors (1 if these are right).

    published: whose standard errors are stated instead of the estimate's own; spread is the one beside the other.
    """
    truth, guess, exact = sums.of(true), sums.of(estimate.series), sums.variance(estimate)
    variance = exact if published is None else published.variance(sums)
    off = np.sqrt(((guess - truth) ** 2).mean() / max(variance.mean(), 1e-12))
    spread = np.sqrt(variance / np.maximum(exact, 1e-12)).mean()
    within, wide = coverage(truth, guess, variance), interval_width(truth, variance)
    return {"coverage": within, "width": wide, "off": float(off), "spread": float(spread)}


def _districts(ground: Ground, seed: int) -> Floats:
    """Groups of neighbouring cells, as rows over cells."""
    groups = min(DISTRICTS, len(ground.cells))
    centroids = ground.cells.centroids - ground.cells.centroids.mean(axis=0)
    label = kmeans2(centroids, groups, seed=seed, minit="++")[1]
    member = np.eye(groups)[label].T
    return np.asarray(member[member.any(axis=1)])


def _random_sets(of: int, random: np.random.Generator) -> Floats:
    """Sets of all sizes, as rows; none is empty."""
    chance = np.geomspace(*CHANCES, SETS)[:, None]
    sets = random.random((SETS, of)) < chance
    sets[np.arange(SETS), random.integers(of, size=SETS)] = True
    return sets.astype(np.float64)


# --- the study -------------------------------------------------------------------------------------------------------


WEEKS = 8
JUDGED = (1, 4, 8)
METRICS = ("coverage", "width", "off", "spread")
DIGITS = {"coverage": 3, "width": 3, "off": 2, "spread": 2}
PUBLISHED = "published table"
PROMISES = (WeeksPromise(0.1, weight_l=10), WeeksPromise(0.3, weight_l=20), WeeksPromise(1.0, weight_l=20))
ENOUGH = 0.92  # of 95 % intervals


def judge_sums(cities: Cities, point: Row, seed: int) -> list[Row]:
    """Each kind of sum in some weeks, by each estimator; random sets are others in every repetition."""
    if point["city"] not in cities:
        return []
    city, promise = cities[point["city"]], promise_of(point)
    kinds = kinds_of_sums(city.ground, seed)
    measured = [measure(week, promise, (seed, number)) for number, week in enumerate(city.weeks, start=1)]
    rows = []
    for name, estimator in WITH_AND_WITHOUT_PAST.items():
        for number, estimate in enumerate(week_by_week(estimator, measured, city.ground.towers.xy), start=1):
            if number in JUDGED:
                of_week = _of_week(name, estimate, city.weeks[number - 1].original, city.ground, kinds)
                rows += [{"week": number, **row} for row in of_week]
    return rows


def _of_week(
    name: str, estimate: WeekEstimate, true: Floats, ground: Ground, kinds: Mapping[str, Sums]
) -> Iterator[Row]:
    """Each kind of sum with the errors of an estimate and, where there is one, by its published table."""
    stated = {name: None} | ({PUBLISHED: Published.of(estimate, ground)} if isinstance(estimate, Learned) else {})
    for (by, published), (kind, sums) in product(stated.items(), kinds.items()):
        yield {"estimator": by, "sums": kind, **score_intervals(sums, true, estimate, published)}


def plot_sums(cities: Cities, results: pl.DataFrame) -> dict[str, Figure]:
    """For each city the coverage of each kind of sum, by estimator and week, at all promises together."""
    means = averaged(results, ["city", "estimator", "week", "sums"], METRICS)
    named = means.with_columns(line=pl.format("{}, week {}", "estimator", "week"))
    label = "share of 95 % intervals that hold"
    return {
        f"sums_{city}": dots(named.filter(city=city), "sums", "coverage", "line", label=label, mark=0.95)
        for city in means["city"].unique(maintain_order=True)
    }


def tabulate_sums(results: pl.DataFrame) -> str:
    """Coverage and width of each kind of sum, over the judged weeks."""
    by = ["city", "promise", "estimator", "sums"]
    rows = []
    means = averaged(results, [*by, "week"], METRICS)
    for key, part in means.group_by(by, maintain_order=True):
        cells = [", ".join(f"{row[metric]:.{DIGITS[metric]}f}" for metric in METRICS) for row in part.to_dicts()]
        rows.append([*map(str, key), *cells])
    text = (
        "Share of 95 % intervals that hold the truth, their width beside what they hold (median), errors in standard "
        "errors (root of mean squares; 1 if these are right), and standard errors beside those of the estimate itself "
        f"(mean; the published table is a summary of these). At least {ENOUGH:.0%} should hold."
    )
    head = ("city", "promise", "estimator", "sums", *(f"week {week}" for week in JUDGED))
    return text + "\n\n" + markdown(head, rows, "llll")


SUMS_STUDY = Study(
    name="sums",
    title="Errors of sums",
    grid=tuple({"city": city, **point_of(promise)} for city, promise in product(NAMES, PROMISES)),
    load=load_cities(WEEKS),
    once=judge_sums,
    figures=plot_sums,
    summary=tabulate_sums,
    about=describe_cities,
    repetitions=10,
    version=2,
    made_from=cities_made_from,
)
