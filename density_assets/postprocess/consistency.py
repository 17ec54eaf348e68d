"""Noisy histograms as counts people could have: whole, not negative, with the same totals (Chen et al., Alg. 3)."""

import numpy as np
from numpy.typing import NDArray

from density_assets.postprocess.rounding import round_by_largest_remainder


def consistent(noisy: NDArray[np.float64], random: np.random.Generator) -> NDArray[np.int64]:
    """Round, raise what is negative to zero, and take that mass back from random positive bins; one row per stamp.

    The total of each rounded row is kept; a row whose total is negative becomes zero.
    """
    counts = np.rint(noisy).astype(np.int64)
    for row in counts:
        owed = int(-row[row < 0].sum())
        np.maximum(row, 0, out=row)
        _take(row, owed, random)
    return counts


def _take(row: NDArray[np.int64], owed: int, random: np.random.Generator) -> None:
    """Take units from bins drawn uniformly among the positive ones.

    One unit at a time, a bin drawn when it is empty is drawn again. So `owed` draws at once are the same process: what
    hits an empty bin is owed still, and nothing more than `owed` can be taken.
    """
    if owed >= row.sum():
        row[:] = 0
        return
    while owed:
        positive = np.flatnonzero(row)
        drawn = random.multinomial(owed, np.full(len(positive), 1 / len(positive)))
        taken = np.minimum(drawn, row[positive])
        row[positive] -= taken
        owed -= int(taken.sum())


def scaled_to(counts: NDArray[np.int64], people: int) -> NDArray[np.int64]:
    """Rows scaled to so many people, whole by largest remainder; an empty row is spread evenly."""
    weight = np.where(counts.sum(axis=1, keepdims=True) > 0, counts, 1)
    shares = people * weight / weight.sum(axis=1, keepdims=True)
    return round_by_largest_remainder(shares.T).T
