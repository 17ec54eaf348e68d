"""What the doors would draw of a counted week, with seeded noise: three Gaussian queries that share one promise."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from density_assets.estimation.weeks.measured import Measured
from density_assets.privacy.calibration import calibrate, gaussian_sigma
from density_assets.privacy.events import Gaussian
from density_assets.privacy.sensitivity import clamped_total
from density_assets.research.weeks.counting import CLAMP, TOWER_NORM, WeekCounts

VISITS_SHARE, TOWERS_SHARE = 0.03, 0.05  # of the budget in mu²; the rest is the matrix's


@dataclass(frozen=True)
class Promise:
    """(epsilon, delta) for so many weeks together, and the bound on a user's weights."""

    epsilon: float
    delta: float = 2e-6
    weeks: int = 1
    weight_l: int = 20

    def __str__(self) -> str:
        return f"epsilon {self.epsilon:g} " + ("a week" if self.weeks == 1 else f"in {self.weeks} weeks")


@lru_cache
def queries(promise: Promise) -> tuple[Gaussian, Gaussian, Gaussian]:
    """Number of visits, visits per tower and weighted visits per tower and hour, of one week."""
    shares = (VISITS_SHARE, TOWERS_SHARE, 1 - VISITS_SHARE - TOWERS_SHARE)
    norms = (clamped_total(CLAMP), TOWER_NORM**0.5, promise.weight_l**0.5)
    names = ("number of visits", "visits per tower", "weighted visits per tower and hour")

    def of_a_week(rho: float) -> list[Gaussian]:
        parts = zip(names, shares, norms, strict=True)
        return [Gaussian(name, gaussian_sigma(share * rho, norm), norm) for name, share, norm in parts]

    events = calibrate(lambda rho: of_a_week(rho / promise.weeks) * promise.weeks, promise.epsilon, promise.delta)
    visits, towers, series = (event for event in events[:3] if isinstance(event, Gaussian))
    return visits, towers, series


def measure(week: WeekCounts, promise: Promise, seed: tuple[int, ...]) -> Measured:
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
