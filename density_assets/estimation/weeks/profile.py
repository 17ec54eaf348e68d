"""The usual week: what the pooled past says of every tower and hour, filtered as a single week is."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from density_assets.estimation.blocks import BlockDiagonal
from density_assets.estimation.kronecker import SMALLEST, Filtered, learn, modes, not_negative
from density_assets.estimation.weeks.state import Pooled

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Profile:
    """A usual week. pooled: the past; whitened: what the filter makes of it, in units of its noise."""

    pooled: Pooled
    whitened: Filtered

    @classmethod
    def of(cls, pooled: Pooled, size: Floats, hours: Floats, near: BlockDiagonal, rounds: int = 0) -> "Profile":
        """The profile of towers of these sizes.

        hours: covariance of hours, with which learning starts. rounds: of learning; 0 takes `hours` as it is.
        """
        relative, columns = size / pooled.rows, np.outer(pooled.columns, pooled.columns)
        along = modes(relative, near)
        whitened = pooled.mean / pooled.unit
        filtered = learn(whitened, pooled.sigma, relative, along, hours / columns, rounds, pooled.columns)
        return cls(pooled, filtered)

    @cached_property
    def mean(self) -> Floats:
        """Weighted visits per tower and hour, not below zero."""
        return not_negative(self.whitened.mean * self.pooled.unit)

    @cached_property
    def variance(self) -> Floats:
        """Of the error of each tower and hour, without the error that all towers share."""
        spread = self.whitened.towers**2 @ self.whitened.variance @ (self.whitened.hours**2).T
        return np.asarray(spread * self.pooled.unit**2)

    @property
    def hours(self) -> Floats:
        """The covariance of hours that was learned."""
        return self.whitened.covariance * np.outer(self.pooled.columns, self.pooled.columns)

    @property
    def rhythm_error(self) -> Floats:
        """Covariance of the error of the city's rhythm, relative to it: towers share it."""
        rhythm = self.mean.mean(axis=0)
        rhythm = np.maximum(rhythm, SMALLEST * rhythm.mean())
        along, relative = self.whitened.hours, self.pooled.columns / rhythm
        return np.asarray(along @ self.whitened.rhythm_error @ along.T * np.outer(relative, relative))
