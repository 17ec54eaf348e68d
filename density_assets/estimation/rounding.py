"""Whole counts whose sum in each hour is the rounded sum of the density."""

import numpy as np
from numpy.typing import NDArray


def round_by_largest_remainder(density: NDArray[np.float64]) -> NDArray[np.int64]:
    """Round each value down or up so that every column sums to its rounded sum.

    The values with the largest fractional parts go up (Hamilton's method of apportionment); of equal ones, those of
    the first cells. Whole values stay, and no value moves by 1 or more.

    density: shape (cells, hours), not negative.
    """
    if not (np.isfinite(density) & (density >= 0)).all():
        raise ValueError(
            f"a density must be finite and not negative, got values from {density.min()} to {density.max()}; "
            "clip negative values before rounding"
        )
    down = np.floor(density)
    missing = np.rint(density.sum(axis=0)) - down.sum(axis=0)
    largest_first = np.argsort(down - density, axis=0, kind="stable")
    goes_up = np.zeros(density.shape, dtype=np.int64)
    np.put_along_axis(goes_up, largest_first, np.arange(len(density))[:, None] < missing, axis=0)
    return down.astype(np.int64) + goes_up
