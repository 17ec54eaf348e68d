"""Noisy histograms as counts people could have: whole, not negative, with the same totals (Chen et al., Alg. 3)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from density_assets.estimation.rounding import round_by_largest_remainder


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


def scaled_to(counts: NDArray[Any], people: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Rows scaled to so many people, whole by largest remainder; a row without anybody has everyone anywhere.

    Small counts have equal remainders, and the order of cells says nothing: of equal ones, chance decides.
    """
    scaled = np.empty(counts.shape, dtype=np.int64)
    total = counts.sum(axis=1)
    cells = np.arange(counts.shape[1])
    scaled[total <= 0] = random.multinomial(people, np.full(len(cells), 1 / len(cells)), int((total <= 0).sum()))
    shuffled = random.permuted(np.tile(cells, (len(counts), 1)), axis=1)[total > 0]
    shares = people * counts[total > 0] / total[total > 0, None]
    rounded = round_by_largest_remainder(np.take_along_axis(shares, shuffled, axis=1).T).T
    scaled[total > 0] = np.take_along_axis(rounded, np.argsort(shuffled, axis=1), axis=1)
    return scaled
