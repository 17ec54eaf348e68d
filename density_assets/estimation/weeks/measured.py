"""What an estimator is given of a week."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Measured:
    """What the doors drew of one week: noisy numbers with the standard deviations of their noise.

    series: noisy weighted visits, towers x 168.
    visits: noisy number of visits.
    towers: noisy visits per tower, each user's vector scaled to at most towers_norm; None if not measured.
    """

    series: Floats
    sigma: float
    visits: float
    visits_sigma: float
    towers: Floats | None = None
    towers_sigma: float = 0.0
    towers_norm: float = 20.0
