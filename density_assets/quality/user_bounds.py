"""What must hold of tables before a release, recomputed without the SQL that made them.

Bounds that noise is calibrated to are kept, visits are moved between towers, cells and cover but never made or lost,
and no hour is silent. Each answer but the last is true whatever the records say, as long as the software is right: a
false one is a fault of the software.
"""

from collections.abc import Iterable, Mapping
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from density_assets.calendar import HOURS
from density_assets.geography.overlaps import Overlaps
from density_assets.geography.places import Cover
from density_assets.privacy.sensitivity import WEIGHT_UNIT

SILENT_BELOW = 0.1  # of what the same hour has on other days
LIKELY, CERTAIN = 2.0, 4.0  # times the noise by which an hour must be below; sound weeks were never above 1.1


def silent_hours(
    totals: NDArray[np.float64],
    noise: NDArray[np.float64],
    missing: Iterable[int] = (),
    margin: float = LIKELY,
) -> list[int]:
    """Hours whose total is far below the same hour of the other days, by more than noise can have done.

    totals: the city's visits in each hour of the week.
    noise: how far noise may have moved each of them; zeros for the truth.
    missing: hours that do not happen.
    margin: how many times the noise an hour must be below what counts as silent.
    An empty week has no such hour: all its days are alike. Nor has one of few people, where nothing can be told.
    """
    days = totals.reshape(-1, 24)
    others = np.array([np.median(np.delete(days, day, axis=0), axis=0) for day in range(len(days))]).reshape(HOURS)
    silent = totals + margin * noise < SILENT_BELOW * others
    return sorted(set(np.flatnonzero(silent).tolist()) - set(missing))


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


Users = Mapping[int, int]  # how many users have so many visits
Spread = Mapping[tuple[int, int], int]  # how many have so many, with such a sum of squares over towers


def capped(kept: Mapping[tuple[int, int], int], visits_per_user: int) -> bool:
    """Whether no user keeps more than l visits, nor two in one hour.

    kept: how many users keep so many visits in so many different hours.
    """
    return all(visits <= visits_per_user and visits == hours for visits, hours in kept)


def weighted_total(users: Users, weight_l: int) -> int:
    """What all weights must add up to: n visits weigh isqrt(weight_l·2^32 / n) each, and at most one."""
    return sum(n * many * _weight(n, weight_l) for n, many in users.items())


def weights_bounded(users: Users, weight_l: int) -> bool:
    """Whether n·w² ≤ weight_l for every n there is, exactly, in units of 2^-32."""
    return all(n * _weight(n, weight_l) ** 2 <= weight_l * WEIGHT_UNIT**2 for n in users)


def tower_weighted_total(users: Spread, tower_l: int) -> int:
    """What totals of towers must add up to: visits weigh isqrt(tower_l·2^32 / S) each, S their squares, at most one."""
    return sum(n * many * _weight(squares, tower_l) for (n, squares), many in users.items())


def tower_weights_bounded(users: Spread, tower_l: int) -> bool:
    """Whether S·w² ≤ tower_l for every S there is, exactly, in units of 2^-32."""
    return all(squares * _weight(squares, tower_l) ** 2 <= tower_l * WEIGHT_UNIT**2 for _, squares in users)


def clamped_total(users: Users, visits_clamp: int) -> int:
    """All visits, each user's number cut at the clamp."""
    return sum(min(n, visits_clamp) * many for n, many in users.items())


def _weight(squares: int, norm: int) -> int:
    """The largest weight, at most one, that keeps a vector with so large a sum of squares below a squared norm."""
    return min(WEIGHT_UNIT, isqrt(norm * WEIGHT_UNIT**2 // squares))
