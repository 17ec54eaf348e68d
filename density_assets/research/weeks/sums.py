"""Sums a planner would ask for: which areas over which hours, and whether their intervals hold.

Areas are rows over cells, periods are columns over hours; every area is summed over every period. Intervals are those
of the estimate, or those that a reader of the published table of errors would state.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.vq import kmeans2

from density_assets.calendar import HOURS
from density_assets.estimation.weeks.estimate import WeekEstimate as RealEstimate
from density_assets.estimation.weeks.summary import Summary, summarise
from density_assets.research.study import Row
from density_assets.research.weeks.cities import Ground
from density_assets.research.weeks.estimators import WeekEstimate
from density_assets.research.weeks.intervals import held, width

Floats = NDArray[np.float64]

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


def judged(sums: Sums, true: Floats, estimate: WeekEstimate, published: Published | None = None) -> Row:
    """Coverage and width of intervals, and the size of errors in standard errors (1 if these are right).

    published: whose standard errors are stated instead of the estimate's own; spread is the one beside the other.
    """
    truth, guess, exact = sums.of(true), sums.of(estimate.series), sums.variance(estimate)
    variance = exact if published is None else published.variance(sums)
    off = np.sqrt(((guess - truth) ** 2).mean() / max(variance.mean(), 1e-12))
    spread = np.sqrt(variance / np.maximum(exact, 1e-12)).mean()
    within, wide = held(truth, guess, variance), width(truth, variance)
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
