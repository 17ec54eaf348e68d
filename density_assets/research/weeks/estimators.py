"""What is compared: the week alone, the plain mean of weeks, and the estimator of releases, by one name.

An estimator takes what the weeks before have left it (None before the first), a week's measurement and the positions
of the towers; it gives the week's estimate and what it leaves to the next week.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from density_assets.estimation.shrinkage import Posterior, posterior
from density_assets.estimation.weeks.estimate import estimate_week
from density_assets.estimation.weeks.state import Measured
from density_assets.series import Floats


class WeekEstimate(Protocol):
    """What is said of one week."""

    @property
    def series(self) -> Floats:
        """Visits per tower and hour, scaled to the noisy number of visits."""

    def variance_of_sums(self, areas: Floats, hours: Floats) -> Floats:
        """Variance of areas @ series @ hours, for areas (k x towers) and hours (168 x p)."""


State = Any  # whatever an estimator keeps
Estimator = Callable[[State | None, Measured, Floats], tuple[WeekEstimate, State]]


@dataclass(frozen=True, eq=False)
class Filtered:
    """The filter of a single release, scaled to the number of visits, with the errors it states.

    Nothing is computed before somebody asks: most weeks of the comparisons are only passed through.
    """

    measured: Measured
    xy: Floats

    @cached_property
    def known(self) -> Posterior:
        """What the filter knows of the weighted visits."""
        return posterior(self.measured.series, self.measured.sigma, self.xy)

    @cached_property
    def scale(self) -> float:
        """Visits per weighted visit."""
        return max(self.measured.visits, 0.0) / max(float(np.maximum(self.known.mean, 0.0).sum()), 1.0)

    @property
    def series(self) -> Floats:
        """The posterior mean without what is negative."""
        return self.scale * np.maximum(self.known.mean, 0.0)

    def variance_of_sums(self, areas: Floats, hours: Floats) -> Floats:
        """Σ_k (V'b)_k² · (Σ_j (U'a)_j² · variance_jk + (U'a common)_k²), in visits."""
        along_towers, along_hours = areas @ self.known.towers, self.known.hours.T @ hours
        spread = along_towers**2 @ self.known.variance + (along_towers @ self.known.common) ** 2
        # A weight is at most one, so a visit is never less uncertain than a weighted one.
        return np.asarray(max(self.scale, 1.0) ** 2 * spread @ along_hours**2)


def week_alone(state: State | None, measured: Measured, xy: Floats) -> tuple[WeekEstimate, State]:
    """Every week by itself."""
    return Filtered(measured, xy), None


def mean_of_weeks(state: State | None, measured: Measured, xy: Floats) -> tuple[WeekEstimate, State]:
    """All weeks as if they were one: the mean of their measurements by precision, filtered."""
    total, precision = state or (0.0, 0.0)
    total, precision = total + measured.series / measured.sigma**2, precision + 1 / measured.sigma**2
    pooled = replace(measured, series=total / precision, sigma=precision**-0.5)
    return Filtered(pooled, xy), (total, precision)


def week_by_week(estimator: Estimator, weeks: Iterable[Measured], xy: Floats) -> Iterator[WeekEstimate]:
    """The estimate of each week, from its own measurement and from those before it."""
    state: State | None = None
    for measured in weeks:
        estimate, state = estimator(state, measured, xy)
        yield estimate


# The estimator of releases: the name results show, and the version that makes them anew. A better one is put in here.
LEARNING: Estimator = estimate_week
LEARNING_NAME, LEARNING_VERSION = "with earlier weeks", 3

WITH_AND_WITHOUT_PAST: dict[str, Estimator] = {"week alone": week_alone, LEARNING_NAME: LEARNING}
COMPARED: dict[str, Estimator] = {**WITH_AND_WITHOUT_PAST, "mean of weeks": mean_of_weeks}


WITHIN = 1.959964  # standard errors on either side of 95 %


def coverage(true: Floats, estimate: Floats, variance: Floats) -> float:
    """The share of 95 % intervals that hold the truth."""
    return float((np.abs(estimate - true) <= WITHIN * np.sqrt(variance)).mean())


def interval_width(true: Floats, variance: Floats) -> float:
    """How wide 95 % intervals are beside what they hold, in the median, where there is something to hold."""
    there = true > 0
    return float(np.median(2 * WITHIN * np.sqrt(variance[there]) / true[there])) if there.any() else float("nan")
