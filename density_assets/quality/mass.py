"""Visits are moved between towers, cells and cover, never made or lost."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from density_assets.geography.cover import Cover
from density_assets.geography.overlaps import Overlaps

TOLERANCE = 1e-9  # of the larger sum: far above rounding, far below one visit in a city's hour


def mass_kept(before: NDArray[Any], after: NDArray[Any]) -> bool:
    """Whether every hour has the same sum over all places before and after.

    Both are matrices of places by hours; the places may differ.
    """
    was, now = before.sum(axis=0, dtype=np.float64), after.sum(axis=0, dtype=np.float64)
    return bool(np.all(np.abs(now - was) <= TOLERANCE * np.maximum(np.abs(was), 1)))


def shares_whole(mapping: csr_array[np.float64, tuple[int, int]]) -> bool:
    """Whether a mapping of towers (columns) to places (rows) gives every tower away exactly once."""
    return bool(np.allclose(mapping.sum(axis=0), 1, rtol=0, atol=TOLERANCE))


def covers(pieces: Overlaps, cover: Cover) -> bool:
    """Whether every overlap of a tower and a cell has its tower or its cell in the cover (a vertex cover)."""
    return bool(np.all(np.isin(pieces.tower, cover.towers) | np.isin(pieces.cell, cover.cells)))
