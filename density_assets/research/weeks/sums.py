"""Sums a planner would ask for: which areas over which hours, and whether their intervals hold.

Areas are rows over towers (through the cells' shares of towers), periods are columns over hours; every area is summed
over every period.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.vq import kmeans2

from density_assets.calendar import HOURS
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
    """Areas (k x towers) and periods (168 x p)."""

    areas: Floats
    periods: Floats

    def of(self, series: Floats) -> Floats:
        """The sums of a series of towers by hours."""
        return self.areas @ series @ self.periods


def kinds_of_sums(ground: Ground, seed: int = 1) -> dict[str, Sums]:
    """Cells by the hour up to the whole week, by name."""
    cells, hours = ground.to_cells, np.eye(HOURS)
    districts = _districts(ground, seed) @ cells
    days, week = np.repeat(np.eye(7), 24, axis=0), np.ones((HOURS, 1))
    random = np.random.default_rng(seed)
    city = cells.sum(axis=0, keepdims=True)
    return {
        "cells": Sums(cells, hours),
        "cell-days": Sums(cells, days),
        "districts": Sums(districts, hours),
        "district-days": Sums(districts, days),
        "district-weeks": Sums(districts, week),
        "random sets": Sums(_random_sets(len(cells), random) @ cells, _random_sets(HOURS, random).T),
        "city-hours": Sums(city, hours),
        "whole week": Sums(city, week),
    }


def judged(sums: Sums, true: Floats, estimate: WeekEstimate) -> Row:
    """Coverage and width of intervals, and the size of errors in standard errors (1 if these are right)."""
    truth, guess = sums.of(true), sums.of(estimate.series)
    variance = estimate.variance_of_sums(sums.areas, sums.periods)
    off = np.sqrt(((guess - truth) ** 2).mean() / max(variance.mean(), 1e-12))
    return {"coverage": held(truth, guess, variance), "width": width(truth, variance), "off": float(off)}


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
