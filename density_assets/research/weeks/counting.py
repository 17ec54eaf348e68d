"""What the doors would count of a week, from visits as they are simulated, and what they would draw of it.

No table of visits is ever kept. The weights are those of the SQL, in the same integers (`contributions.py`). With
seeded noise the doors are three Gaussian queries that share one promise.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from density_assets.calendar import HOURS
from density_assets.estimation.weeks.state import Measured
from density_assets.people.population import VisitChunk
from density_assets.privacy import sensitivity
from density_assets.privacy.calibration import calibrate, gaussian_sigma
from density_assets.privacy.events import Gaussian
from density_assets.privacy.sensitivity import WEIGHT_UNIT
from density_assets.research.contributions import clamped_total, integer_weights, rank_within, squares_over_places
from density_assets.series import Floats, Ints
from density_assets.settings import PrivacySettings, SchemeSettings

WEIGHTS = (10, 20)  # values of weight_l that are counted
TOWER_NORM = SchemeSettings().tower_l  # bound on the sum of squares of one user's weighted visits per tower
CLAMP = PrivacySettings().visits_clamp  # visits of one user that count in the number of visits
VISITS_SHARE, TOWERS_SHARE = 0.03, 0.05  # of the budget in mu²; the rest is the matrix's


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
        visits += clamped_total(each, CLAMP)
        for weight_l, sums in series.items():
            weights = integer_weights(each, weight_l)[user] / WEIGHT_UNIT if weight_l else None
            sums += np.bincount(place, weights, minlength=len(sums))
        weights = integer_weights(squares_over_places(user, tower, len(each)), TOWER_NORM)[user] / WEIGHT_UNIT
        totals += np.bincount(tower, weights, minlength=towers)
    matrices = {name: sums.reshape(towers, HOURS) for name, sums in series.items()}
    return WeekCounts(matrices.pop(0), matrices, totals, visits)


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
        chosen = hourly[rank_within(user[hourly]) < kept]
        truncated += np.bincount(tower[chosen] * HOURS + hour[chosen], minlength=len(truncated))
    return TruncatedCounts(truncated.reshape(towers, HOURS), sampled)


@dataclass(frozen=True)
class WeeksPromise:
    """(epsilon, delta) for so many weeks together, and the bound on a user's weights."""

    epsilon: float
    delta: float = 2e-6
    weeks: int = 1
    weight_l: int = 20

    def __str__(self) -> str:
        return f"epsilon {self.epsilon:g} " + ("a week" if self.weeks == 1 else f"in {self.weeks} weeks")


@lru_cache
def queries(promise: WeeksPromise) -> tuple[Gaussian, Gaussian, Gaussian]:
    """Number of visits, visits per tower and weighted visits per tower and hour, of one week."""
    shares = (VISITS_SHARE, TOWERS_SHARE, 1 - VISITS_SHARE - TOWERS_SHARE)
    norms = (sensitivity.clamped_total(CLAMP), TOWER_NORM**0.5, promise.weight_l**0.5)
    names = ("number of visits", "visits per tower", "weighted visits per tower and hour")

    def of_a_week(rho: float) -> list[Gaussian]:
        parts = zip(names, shares, norms, strict=True)
        return [Gaussian(name, gaussian_sigma(share * rho, norm), norm) for name, share, norm in parts]

    events = calibrate(lambda rho: of_a_week(rho / promise.weeks) * promise.weeks, promise.epsilon, promise.delta)
    visits, towers, series = (event for event in events[:3] if isinstance(event, Gaussian))
    return visits, towers, series


def measure(week: WeekCounts, promise: WeeksPromise, seed: tuple[int, ...]) -> Measured:
    """One draw of each query; the same seed is the same noise."""
    visits, towers, series = (event.sigma for event in queries(promise))
    random = np.random.default_rng(seed)
    counted = week.weighted[promise.weight_l]
    return Measured(
        series=counted + random.normal(0.0, series, counted.shape),
        sigma=series,
        visits=week.visits + random.normal(0.0, visits),
        visits_sigma=visits,
        towers=week.tower_totals + random.normal(0.0, towers, len(counted)),
        towers_sigma=towers,
        towers_norm=TOWER_NORM**0.5,
    )
