"""Do stored tables keep the bounds that noise is calibrated to? Recomputed here without the SQL that made them.

Each answer is true whatever the records say, as long as the software is right: a false one is a fault of the software.
"""

from collections.abc import Mapping
from math import isqrt

from density_assets.privacy.sensitivity import WEIGHT_UNIT

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
