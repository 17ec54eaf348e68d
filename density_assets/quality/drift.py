"""How far one released week is from the one before, as far as noise lets one tell."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LARGE = 0.25  # of all visits


@dataclass(frozen=True)
class Drift:
    """Changes from week to week, as shares of last week's visits.

    total: change of the city's visits.
    moved: visits that would have to move between cells to make the two weeks alike.
    noise: how much of either noise alone may explain.
    """

    total: float
    moved: float
    noise: float

    @property
    def large(self) -> bool:
        """Whether a person should look."""
        return max(abs(self.total), self.moved) > LARGE + self.noise


@dataclass(frozen=True)
class Known:
    """Visits of places over a week, and their standard errors."""

    visits: NDArray[np.float64]
    error: NDArray[np.float64]


def drift(now: Known, then: Known) -> Drift:
    """Compare the visits of each place over a week with those of the week before; their errors must be independent."""
    was = max(float(then.visits.sum()), 1.0)
    scale = then.visits.sum() / now.visits.sum() if now.visits.sum() > 0 else 0.0
    moved = np.abs(now.visits * scale - then.visits).sum() / 2
    noise = 3 * float(np.hypot(now.error, then.error).sum())
    return Drift(float(now.visits.sum() - then.visits.sum()) / was, float(moved) / was, noise / was)
