"""Do stored tables keep the bounds that noise is calibrated to? Recomputed here without the SQL that made them.

Each answer is true whatever the records say, as long as the software is right: a false one is a fault of the software.
"""

from collections.abc import Mapping
from math import isqrt

from density_assets.privacy.sensitivity import WEIGHT_UNIT

Users = Mapping[int, int]  # how many users have so many visits


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


def clamped_total(users: Users, visits_clamp: int) -> int:
    """All visits, each user's number cut at the clamp."""
    return sum(min(n, visits_clamp) * many for n, many in users.items())


def _weight(visits: int, weight_l: int) -> int:
    return min(WEIGHT_UNIT, isqrt(weight_l * WEIGHT_UNIT**2 // visits))
