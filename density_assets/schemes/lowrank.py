"""`lowrank`: weigh instead of sampling, one Gaussian mechanism, and let structure separate signal from noise.

A user's week is a vector of n ones over (tower, hour), scaled by min(1, sqrt(weight_l/n)): its norm is at most
sqrt(weight_l), nothing is thrown away and nothing is random. One Gaussian mechanism measures the sum of these
vectors, a second and much cheaper one the number of visits, for scale. The proof is one line: two Gaussian queries,
calibrated together.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from density_assets.privacy.calibration import calibrate, gaussian_sigma
from density_assets.privacy.events import Gaussian
from density_assets.privacy.noise import Noise
from density_assets.privacy.sensitivity import clamped_total, weighted_l2
from density_assets.schemes.scheme import SERIES, TOTALS, Counts, Plan
from density_assets.settings import Settings


class LowRank:
    """The scheme `lowrank`."""

    name = "lowrank"
    version = 1
    default_split = 0.03  # of the budget, for the scale
    reads: Mapping[str, tuple[str, ...]] = {TOTALS: ("visit_total",), SERIES: ("tower_series",)}

    def plan(self, settings: Settings) -> Plan:
        """Two Gaussian queries that share the budget."""
        share = settings.scheme.split or self.default_split
        clamp, norm = clamped_total(settings.privacy.visits_clamp), weighted_l2(settings.scheme.weight_l)

        def events_at(rho: float) -> tuple[Gaussian, Gaussian]:
            return (
                Gaussian("number of visits, each user's clamped", gaussian_sigma(share * rho, clamp), clamp),
                Gaussian("weighted visits per tower and hour", gaussian_sigma((1 - share) * rho, norm), norm),
            )

        totals, series = calibrate(events_at, settings.privacy.epsilon, settings.privacy.delta)
        return {TOTALS: (totals,), SERIES: (series,)}

    def totals(self, plan: Plan, counts: Counts, noise: Noise) -> dict[str, NDArray[Any]]:
        """The noisy number of visits."""
        (event,) = plan[TOTALS]
        assert isinstance(event, Gaussian)
        assert counts.visit_total is not None  # declared in `reads`
        return {"visits": noise.discrete_gaussian(np.array([counts.visit_total]), event)}

    def series(self, plan: Plan, counts: Counts, noise: Noise) -> dict[str, NDArray[Any]]:
        """The noisy weighted matrix, dense over the public towers."""
        (event,) = plan[SERIES]
        assert isinstance(event, Gaussian)
        assert counts.weighted is not None  # declared in `reads`
        return {"weighted": noise.discrete_gaussian(counts.weighted, event)}
