"""Errors of an estimate, so that the error of any sum of it can be told.

Each part knows the variance of a'Xb for any weights a of towers and b of hours. Parts are independent of each other, so
variances add up.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from density_assets.estimation.kronecker import Areas, BlockDiagonal, some_rows
from density_assets.estimation.sizes import REACH
from density_assets.estimation.weeks.stretches import Stretch
from density_assets.series import Floats

Mask = NDArray[np.bool_]


HOUR_BIAS = 0.02  # of the city's visits in an hour: what weights add or take, on the cities constants come from
BIAS_HOURS = 3.0  # it is alike over so many hours


class Errors(Protocol):
    """Errors of a matrix of towers by hours."""

    def variance(self, areas: Floats, hours: Floats) -> Floats:
        """Of areas @ X @ hours, for areas (k x towers) and hours (168 x p): k x p."""


def variance_of_sums(errors: Errors, areas: Areas, hours: Floats) -> Floats:
    """Of areas @ X @ hours; where areas are sparse, some at a time."""
    if not isinstance(areas, csr_array):
        return errors.variance(areas, hours)
    return np.vstack([errors.variance(rows.toarray(), hours) for rows in some_rows(areas)])


@dataclass(frozen=True)
class Separable:
    """Errors of a Kronecker filter: independent along towers' and hours' components.

    v = Σ_jk (U'a)_j² · spread_jk · (V'b)_k² + Σ_k (Σ_j (U'a)_j · common_jk)² · (V'b)_k²

    common: standard deviations of the error that all towers share; none if it is told elsewhere.
    rows, columns: the matrix is in these units, tower by tower and hour by hour.
    """

    towers: BlockDiagonal
    hours: Floats
    spread: Floats
    common: Floats | None = None
    rows: Floats | float = 1.0
    columns: Floats | float = 1.0

    def variance(self, areas: Floats, hours: Floats) -> Floats:
        """As the formula above."""
        of_hours = (self.hours.T @ (hours.T * self.columns).T) ** 2
        own, shared = (np.zeros((len(areas), len(of_hours))) for _ in range(2))
        for rows, towers, along in self.towers.parts(areas * self.rows):
            own[rows] += along**2 @ self.spread[towers]
            if self.common is not None:
                shared[rows] += along @ self.common[towers]
        return np.asarray((own + shared**2) @ of_hours)


@dataclass(frozen=True)
class OfScatter:
    """Errors that every tower and hour has by itself: people are counted, not rates. own: their variances."""

    own: Floats

    def variance(self, areas: Floats, hours: Floats) -> Floats:
        """Sums of the own variances."""
        return np.asarray(areas**2 @ self.own @ hours**2)


@dataclass(frozen=True)
class OfFactors:
    """Errors of city-wide factors of hours: v = (P'a ∘ b)' C (P'a ∘ b), P the usual week, C their covariance."""

    mean: Floats
    covariance: Floats

    def variance(self, areas: Floats, hours: Floats) -> Floats:
        """As the formula above, by a root of C."""
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        visits, of_periods = areas @ self.mean, np.empty((len(areas), hours.shape[1]))
        for period, column in enumerate(hours.T):
            within = np.flatnonzero(column)  # most periods are an hour or a day
            of_periods[:, period] = (((visits[:, within] * column[within]) @ root[within]) ** 2).sum(axis=1)
        return of_periods


@dataclass(frozen=True)
class OfStretches:
    """Errors of what was found to stand apart: one pattern each, and what is each hour's own."""

    found: Sequence[Stretch]

    def variance(self, areas: Floats, hours: Floats) -> Floats:
        """Squares of the patterns' sums, and sums of the own squares."""
        total = np.zeros((len(areas), hours.shape[1]))
        for stretch in self.found:
            part = hours[stretch.hours]
            spread = (stretch.error @ part) ** 2 + stretch.own_error**2 * (part**2).sum(axis=0)
            total += np.outer(areas[:, stretch.tower] ** 2, spread)
        return total


@dataclass(frozen=True)
class Apart:
    """Errors of two estimates of which each is used where the other is not: some towers and some hours are odd."""

    usual: Errors
    alone: Errors
    towers: Mask
    hours: Mask

    def variance(self, areas: Floats, hours: Floats) -> Floats:
        """Odd towers, other towers in odd hours, and what is usual."""
        others, in_odd = areas * ~self.towers, hours * self.hours[:, None]
        odd = self.alone.variance(areas * self.towers, hours) + self.alone.variance(others, in_odd)
        return odd + self.usual.variance(others, hours - in_odd)


@dataclass(frozen=True)
class Together:
    """Independent errors of one matrix."""

    parts: tuple[Errors, ...]

    def variance(self, areas: Floats, hours: Floats) -> Floats:
        """Their sum."""
        return np.asarray(sum(part.variance(areas, hours) for part in self.parts))


def weights_bias(hours: int) -> Floats:
    """Covariance of what weights do to each hour: busy users, whose visits count for less, live by other hours."""
    hour = np.arange(hours)
    return np.asarray(HOUR_BIAS**2 * np.exp(-np.abs(hour[:, None] - hour) / BIAS_HOURS))


@dataclass(frozen=True)
class Scaled:
    """Errors of g·f_i·X_it, where factors f of towers and the city's scale g are known but for errors of their own.

    series: X, not below zero. errors: of X. factor, factor_error: f. scale, scale_error: g.
    xy: positions of towers: factors' errors are alike within a kilometre.
    """

    series: Floats
    errors: Errors
    factor: Floats
    factor_error: Floats
    scale: float
    scale_error: float
    xy: Floats

    def variance(self, areas: Floats, hours: Floats) -> Floats:
        """(g² + SE(g)²) · (variance of f X's sum) + SE(g)² · (f X's sum)²."""
        scaled = areas * self.factor
        shape = self.errors.variance(scaled, hours) + self._of_factors(areas, hours)
        shape = shape + OfFactors(self.series, weights_bias(len(hours))).variance(scaled, hours)
        total = scaled @ self.series @ hours
        return np.asarray((self.scale**2 + self.scale_error**2) * shape + self.scale_error**2 * total**2)

    def _of_factors(self, areas: Floats, hours: Floats) -> Floats:
        """Errors of factors are one within a neighbourhood and independent between neighbourhoods."""
        uncertain = self.factor_error[:, None] * (self.series @ hours)
        total = np.zeros((len(areas), hours.shape[1]))
        for number in range(self.neighbourhood.max() + 1):
            part = np.flatnonzero(self.neighbourhood == number)
            there = np.flatnonzero(areas[:, part].any(axis=1))  # most areas lie in few neighbourhoods
            total[there] += (areas[np.ix_(there, part)] @ uncertain[part]) ** 2
        return total

    @cached_property
    def neighbourhood(self) -> NDArray[np.int64]:
        """The square each tower lies in, as large as the area over which exp(−d / reach) is alike: 2π reach²."""
        squares = np.floor((self.xy - self.xy.min(axis=0)) / (np.sqrt(2 * np.pi) * REACH))
        return np.unique(squares, axis=0, return_inverse=True)[1].reshape(-1)
