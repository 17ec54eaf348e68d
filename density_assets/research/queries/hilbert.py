"""Places in the order of a Hilbert curve: neighbours on the curve are neighbours in the plane.

Ranges along the curve are 1-dimensional queries (§3.1.1), which `ranges.py` audits. The position on the curve is found
quadrant by quadrant (Hilbert 1891): each quadrant adds its number, and the square is turned so that the curve inside
the quadrant looks like the whole.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from density_assets.errors import BadInput
from density_assets.research.queries.query import Ints

LEVELS = 16  # 65,536 steps to each side: metres in a city


def hilbert_order(positions: NDArray[np.float64]) -> Ints:
    """The places, in the order in which the curve over their bounding square meets them."""
    if positions.ndim != 2 or positions.shape[1] != 2 or not len(positions) or not np.isfinite(positions).all():
        raise BadInput(f"places must have two finite coordinates each, got an array of shape {positions.shape}")
    low = positions.min(axis=0)
    side = max(float((positions - low).max()), 1e-300)
    cells = np.minimum((positions - low) / side * 2**LEVELS, 2**LEVELS - 1).astype(np.int64)
    return np.argsort(curve_position(cells[:, 0], cells[:, 1], LEVELS), kind="stable")


def curve_position(x: Ints, y: Ints, levels: int) -> Ints:
    """How far along the curve the cells (x, y) of a square of 2^levels cells a side lie."""
    position: Any = np.zeros_like(x)
    for level in range(levels - 1, -1, -1):
        half = 1 << level
        right, upper = (x & half) > 0, (y & half) > 0
        position = position + half * half * np.where(right, 3 - upper.astype(np.int64), upper)
        x, y = _turned(x & (half - 1), y & (half - 1), right, upper, half)
    return np.asarray(position, np.int64)


def _turned(x: Ints, y: Ints, right: Any, upper: Any, side: int) -> tuple[Ints, Ints]:
    """Lower quadrants are mirrored at a diagonal: the left one at the rising, the right one at the falling."""
    falling = right & ~upper
    x, y = np.where(falling, side - 1 - x, x), np.where(falling, side - 1 - y, y)
    return np.where(upper, x, y), np.where(upper, y, x)
