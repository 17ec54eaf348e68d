"""What the doors would count of a week, from visits as they are simulated: no table of visits is ever kept.

The weights are those of the SQL, in the same integers: a user with n visits counts min(2^16, isqrt(l·2^32 // n)) per
visit, and, in the totals of towers, min(2^16, isqrt(400·2^32 // Σb²)) where b are the user's visits per tower.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from density_assets.calendar import HOURS
from density_assets.people.population import VisitChunk
from density_assets.privacy.sensitivity import WEIGHT_UNIT

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WEIGHTS = (10, 20)  # values of weight_l that are counted
TOWER_NORM = 400  # bound on the sum of squares of one user's weighted visits per tower
CLAMP = 732  # visits of one user that count in the number of visits


@dataclass(frozen=True)
class WeekCounts:
    """One week, counted.

    original: visits per tower and hour, which every metric compares with.
    weighted: the same with users' weights, by weight_l.
    tower_totals: visits per tower, each user's vector scaled to a squared norm of at most TOWER_NORM.
    visits: number of visits, each user's clamped.
    """

    original: Floats
    weighted: dict[int, Floats]
    tower_totals: Floats
    visits: float


def count_week(chunks: Iterable[VisitChunk], towers: int) -> WeekCounts:
    """Add up chunks of whole users."""
    series = {name: np.zeros(towers * HOURS) for name in (0, *WEIGHTS)}  # 0: without weights
    totals, visits = np.zeros(towers), 0.0
    for chunk in chunks:
        user, tower = chunk.user - chunk.user[0], chunk.tower.astype(np.int64)
        place = tower * HOURS + chunk.hour
        each = np.bincount(user)
        visits += np.minimum(each, CLAMP).sum()
        for weight_l, sums in series.items():
            weights = visit_weights(each, weight_l)[user] if weight_l else None
            sums += np.bincount(place, weights, minlength=len(sums))
        totals += np.bincount(tower, tower_weights(user, tower, towers)[user], minlength=towers)
    matrices = {name: sums.reshape(towers, HOURS) for name, sums in series.items()}
    return WeekCounts(matrices.pop(0), matrices, totals, visits)


def visit_weights(visits: Ints, weight_l: int) -> Floats:
    """The weight of each user's visits: n·w² is at most weight_l."""
    return _scaled_to(visits, weight_l)


def tower_weights(user: Ints, tower: Ints, towers: int) -> Floats:
    """The weight of each user's visits in the totals of towers: Σ(w·b)² is at most TOWER_NORM."""
    pairs, times = np.unique(user * towers + tower, return_counts=True)
    squares = np.bincount(pairs // towers, times.astype(np.float64) ** 2, minlength=int(user[-1]) + 1)
    return _scaled_to(squares.astype(np.int64), TOWER_NORM)


def _scaled_to(squared_norm: Ints, bound: int) -> Floats:
    """Integer weights in units of 2^-16; a root below 2^26 is exact in double precision."""
    weights = np.floor(np.sqrt(bound * WEIGHT_UNIT**2 // np.maximum(squared_norm, 1)))
    return np.asarray(np.minimum(weights, WEIGHT_UNIT) / WEIGHT_UNIT)


@dataclass(frozen=True)
class TruncatedCounts:
    """What schemes that sample count: visits kept per tower and hour, and one visit of each user by tower."""

    truncated: Floats
    sampled: Ints


def count_truncated(chunks: Iterable[VisitChunk], towers: int, kept: int, seed: int) -> TruncatedCounts:
    """At most one visit per user and hour, then at most `kept` of a user; and one of all visits of each user."""
    random = np.random.default_rng([seed, kept])
    truncated, sampled = np.zeros(towers * HOURS), np.zeros(towers, dtype=np.int64)
    for chunk in chunks:
        order = random.permutation(len(chunk.user))
        user, hour, tower = chunk.user[order], chunk.hour[order].astype(np.int64), chunk.tower[order].astype(np.int64)
        sampled += np.bincount(tower[np.unique(user, return_index=True)[1]], minlength=towers)
        hourly = random.permutation(np.unique(user * HOURS + hour, return_index=True)[1])
        chosen = hourly[_rank_within(user[hourly]) < kept]
        truncated += np.bincount(tower[chosen] * HOURS + hour[chosen], minlength=len(truncated))
    return TruncatedCounts(truncated.reshape(towers, HOURS), sampled)


def _rank_within(group: Ints) -> Ints:
    """The position of each entry among those of its group, in the order given."""
    order = np.argsort(group, kind="stable")
    ordered = group[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    rank = np.empty(len(group), dtype=np.int64)
    rank[order] = np.arange(len(group)) - np.repeat(first, np.diff(np.append(first, len(group))))
    return rank
