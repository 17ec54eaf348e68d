"""Whether intervals hold the truth, and how wide they are."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

WITHIN = 1.959964  # standard errors on either side of 95 %


def held(true: Floats, estimate: Floats, variance: Floats) -> float:
    """The share of 95 % intervals that hold the truth."""
    return float((np.abs(estimate - true) <= WITHIN * np.sqrt(variance)).mean())


def width(true: Floats, variance: Floats) -> float:
    """How wide 95 % intervals are beside what they hold, in the median, where there is something to hold."""
    there = true > 0
    return float(np.median(2 * WITHIN * np.sqrt(variance[there]) / true[there])) if there.any() else float("nan")
