"""What every scheme of release offers.

A scheme says what its doors will spend, from settings alone, how each door draws, and what to make of the noisy
numbers. It never touches ledger or store: who pays and what is kept is decided outside. Its steps are

    plan → totals (door) → clusters → series (door) → estimate

and only the doors see confidential numbers. `run.py` takes them all at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from density_assets.geography.places import Kind, Places
from density_assets.privacy.events import Event
from density_assets.privacy.noise import Noise
from density_assets.series import Floats
from density_assets.settings import Settings

TOTALS, SERIES = "noisy_totals", "noisy_series"  # the doors, named after their assets
WHERE = {"towers": "tower_series", "cover": "cover_series", "cells": "iris_series"}  # the table of each kind of place

Plan = Mapping[str, tuple[Event, ...]]
Values = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Counts:
    """The confidential numbers of a week that a door declares; the others are absent.

    series: per place and hour, truncated (or weighted integers, for towers).
    sampled: one visit per user, per tower. visit_total: number of visits, each user's clamped.
    tower_totals: visits of the week per tower, weighted integers.
    """

    series: NDArray[Any] | None = None
    sampled: NDArray[np.int64] | None = None
    visit_total: int | None = None
    tower_totals: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        for name, counts in vars(self).items():
            if counts is not None and not (np.isfinite(counts).all() and np.min(counts, initial=0) >= 0):
                raise ValueError(f"{name} must be finite counts of zero or more: look at the tables it comes from")


@dataclass(frozen=True)
class Estimate:
    """What a scheme makes of its noisy numbers.

    series: non-negative visits per place and hour.
    cell_error: standard error of the series of the cells, by noise alone and to first order.
    """

    series: Floats
    cell_error: Floats


def mapped_error(mapping: Any, error: Floats) -> Floats:
    """Standard errors of `mapping @ series`, where errors of different places are independent."""
    return np.asarray(np.sqrt((mapping**2) @ error**2))


class Scheme(Protocol):
    """One way to release a week.

    name: names the distribution of what the doors draw; another distribution is a scheme of another name.
    places: what its series are counted at.
    clustered: whether places share series; if not, the doors and the estimate do not look at clusters.
    own_settings: settings that shape its draws and those of few others. They are part of its measurements' key; other
        schemes keep their measurements when these change.
    """

    @property
    def name(self) -> str: ...
    @property
    def places(self) -> Kind: ...
    @property
    def clustered(self) -> bool: ...
    @property
    def own_settings(self) -> tuple[str, ...]: ...

    def reads(self, settings: Settings) -> Mapping[str, tuple[str, ...]]:
        """The confidential tables each door reads."""

    def plan(self, settings: Settings) -> Plan:
        """What each door will spend: calibrated together to the asked (epsilon, delta), or as published."""

    def totals(self, plan: Plan, counts: Counts, noise: Noise) -> Values:
        """Draw the first door; nothing if the scheme needs no totals."""

    def clusters(self, plan: Plan, totals: Values, places: Places) -> NDArray[np.int64]:
        """Which places share one noisy series, by label."""

    def series(self, plan: Plan, counts: Counts, labels: NDArray[np.int64], noise: Noise) -> Values:
        """Draw the second door: `series`, one row per cluster, and how many coefficients each row has kept."""

    def estimate(
        self, settings: Settings, plan: Plan, totals: Values, labels: NDArray[np.int64], drawn: Values, places: Places
    ) -> Estimate:
        """The series of the places, from noisy numbers and public geography alone."""


def alone(places: int) -> NDArray[np.int64]:
    """Every place a cluster of its own."""
    return np.arange(places, dtype=np.int64)


def present(counts: Any) -> Any:
    """A count the door has declared."""
    if counts is None:
        raise ValueError("a door may read the counts it declares only: add the table to the scheme's `reads`")
    return counts
