"""Streams of histograms: people per location, stamp after stamp (rows are stamps).

A user adds at most one to one histogram (one location per stamp, or one visit spread over places with mass one), so
neighbouring streams D, D' have ‖D_t − D'_t‖₁ ≤ 1 at every stamp t. Everything in this package rests on that bound.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

HISTOGRAM = 1.0  # L1 change of one histogram by one user; also of its distance from anything fixed or released
PRINTED_DISTANCE = 2.0  # Δ_D as published, used for comparisons and histograms alike
FEWEST = 2  # releases of a stream: its first histogram is always drawn, so a stream with one would never compare
ADJACENT = 2.0  # change of the distance between two histograms that both hold the user


def distances(stream: Floats) -> Floats:
    """L1 distances of consecutive histograms, one less than there are stamps."""
    return np.asarray(np.abs(np.diff(stream, axis=0)).sum(axis=1))


def histograms(cells: NDArray[np.integer], locations: int) -> Floats:
    """People per stamp and location, from one cell per (person, stamp); negative cells are people not seen."""
    counts = np.zeros((cells.shape[1], locations))
    for stamp, seen in enumerate(cells.T):
        counts[stamp] = np.bincount(seen[seen >= 0], minlength=locations)
    return counts
