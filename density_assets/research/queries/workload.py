"""Queries about everybody, as rows over (place, hour), and how far one user can move all their answers.

Workloads are public: they are made of the map and the calendar, never of the traces.

Districts are places one after the other on a Hilbert curve: neighbours on the curve are neighbours in the plane, and
ranges along it are 1-dimensional queries (§3.1.1), which `audited_answers.py` audits. The position on the curve is
found quadrant by quadrant (Hilbert 1891): each quadrant adds its number, and the square is turned so that the curve
inside the quadrant looks like the whole.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array

from density_assets.errors import BadInput
from density_assets.privacy.sensitivity import FLOAT_SLACK
from density_assets.research.traces.matrix import Matrix
from density_assets.series import Floats, Ints

DENSE_IS_FASTER = 0.05  # share of products that are not 0
BLOCK = 250  # columns whose products with all others are held at once


def every_place_and_hour(places: int, hours: int) -> Matrix:
    """One query per place and hour: the density itself."""
    return csr_array(eye_array(places * hours))


def partition(of_place: Ints, of_hour: Ints) -> Matrix:
    """One query per group of places and group of hours; groups are numbered from 0."""
    groups = int(of_place.max() + 1), int(of_hour.max() + 1)
    label = (of_place[:, None] * groups[1] + of_hour).ravel()
    return csr_array((np.ones(len(label)), (label, np.arange(len(label)))), shape=(groups[0] * groups[1], len(label)))


def districts(positions: Floats, count: int) -> Ints:
    """The district of each place: consecutive places of the Hilbert curve, as many to each as can be."""
    if not 1 <= count <= len(positions):
        raise BadInput(f"districts must number from 1 to the {len(positions)} places, got {count}")
    label = np.empty(len(positions), np.int64)
    label[hilbert_order(positions)] = np.arange(len(positions)) * count // len(positions)
    return label


def rectangles(positions: Floats, hours: int, count: int, seed: int) -> Matrix:
    """Random rectangles of places times spans of hours: two places span the one, two hours the other."""
    rng = np.random.default_rng(seed)
    ends = positions[rng.integers(len(positions), size=(count, 2))]
    low, high = ends.min(axis=1), ends.max(axis=1)
    inside = ((positions >= low[:, None]) & (positions <= high[:, None])).all(axis=2)
    first, last = np.sort(rng.integers(hours, size=(count, 2)), axis=1).T
    during = (np.arange(hours) >= first[:, None]) & (np.arange(hours) <= last[:, None])
    return csr_array((inside[:, :, None] & during[:, None, :]).reshape(count, -1), dtype=float)


def workload_sensitivity(workload: Matrix, hours: int, visits: int) -> float:
    """How far one truncated user can move all answers together, in L2.

    Guarantees: ‖W x‖ is at most this for all 0/1 vectors x with at most one place per hour and `visits` ones.

    With G = Wᵀ W, ‖W x‖² is the sum of (G x)_c over the visits c of the user. Visits are in different hours, so
    (G x)_c is at most r_c, the sum of the `visits` largest of the hourly maxima of G_c·, counting those below 0 as 0;
    and the sum over c is at most that of the `visits` largest hourly maxima of r. It is never above the sum of column
    norms (G_cd ≤ ‖W_c‖ ‖W_d‖) and exact where it matters: sqrt(l) for all cell-hours or totals of hours, l for weeks
    of places.
    """
    if workload.shape[1] % hours or not workload.nnz:
        raise BadInput(f"queries must cover places times {hours} hours, got {workload.shape[1]} columns")
    columns = workload.shape[1]
    row_sums = np.concatenate(
        [_most(_hourly_maxima(workload, start, hours), visits) for start in range(0, columns, BLOCK)]
    )
    best = row_sums.reshape(-1, hours).max(axis=0)
    return math.sqrt(_most(best[None, :], visits)[0]) * FLOAT_SLACK


def partition_sensitivity(of_hour: Ints, visits: int) -> float:
    """The same of a `partition`, exactly: its queries are disjoint.

    In each group of hours a user has at most as many visits as the group has hours, and squares are largest if all
    are in one query and groups with most hours come first.
    """
    sizes = np.sort(np.bincount(of_hour))[::-1]
    used = np.minimum(np.cumsum(sizes), visits)
    return math.sqrt(float((np.diff(used, prepend=0) ** 2).sum())) * FLOAT_SLACK


def _hourly_maxima(workload: Matrix, start: int, hours: int) -> Floats:
    """The largest G_cd, or 0, over d of each hour, for a block of columns c."""
    block = workload[:, start : start + BLOCK]
    products = (block.T @ workload).tocoo()
    if products.nnz > DENSE_IS_FASTER * block.shape[1] * workload.shape[1]:
        by_hour = products.toarray().reshape(block.shape[1], -1, hours)
        return np.asarray(np.maximum(by_hour.max(axis=1), 0.0))
    maxima = np.zeros((block.shape[1], hours))
    np.maximum.at(maxima, (products.row, products.col % hours), products.data)
    return maxima


def _most(values: Floats, count: int) -> Floats:
    """The sum of the largest values of each row."""
    few = min(count, values.shape[1])
    return np.asarray(np.partition(values, -few, axis=1)[:, -few:].sum(axis=1))


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
