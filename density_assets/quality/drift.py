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


def drift(now: NDArray[np.float64], before: NDArray[np.float64], error: NDArray[np.float64]) -> Drift:
    """Compare the visits of each cell over a week with those of the week before.

    error: standard error of each cell's change over the week.
    """
    was = max(float(before.sum()), 1.0)
    scale = before.sum() / now.sum() if now.sum() > 0 else 0.0
    moved = np.abs(now * scale - before).sum() / 2
    return Drift(float(now.sum() - before.sum()) / was, float(moved) / was, 3 * float(error.sum()) / was)
