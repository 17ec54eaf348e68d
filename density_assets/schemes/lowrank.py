"""`lowrank`: weigh instead of sampling, one Gaussian mechanism, and let structure separate signal from noise.

A user's week is a vector of n ones over (tower, hour), scaled by min(1, sqrt(weight_l/n)): its norm is at most
sqrt(weight_l), nothing is thrown away and nothing is random. One Gaussian mechanism measures the sum of these
vectors, a second and much cheaper one the number of visits, for scale. The proof is one line: two Gaussian queries,
calibrated together.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from density_assets.calendar import HOURS
from density_assets.estimation.shrinkage import posterior
from density_assets.geography.places import Kind, Places
from density_assets.privacy.calibration import calibrate, gaussian_sigma
from density_assets.privacy.events import Gaussian
from density_assets.privacy.noise import Noise
from density_assets.privacy.sensitivity import WEIGHT_UNIT, clamped_total, weighted_l2
from density_assets.schemes.scheme import SERIES, TOTALS, Counts, Estimate, Plan, Values, alone, present
from density_assets.settings import Settings


@dataclass(frozen=True)
class LowRank:
    """The scheme `lowrank`."""

    name: str = "lowrank"
    places: Kind = "towers"
    default_split: float = 0.03  # of the budget, for the scale
    clustered: bool = False
    version: int = 1
    own_settings: ClassVar[tuple[str, ...]] = ()

    def reads(self, settings: Settings) -> Mapping[str, tuple[str, ...]]:
        """The number of visits, and the weighted series of the towers."""
        return {TOTALS: ("visit_total",), SERIES: ("tower_series",)}

    def plan(self, settings: Settings) -> Plan:
        """Two Gaussian queries that share the budget."""
        share = settings.scheme.split or self.default_split
        clamp, norm = clamped_total(settings.privacy.visits_clamp), weighted_l2(settings.scheme.weight_l)

        def events_at(rho: float) -> tuple[Gaussian, Gaussian]:
            return (
                Gaussian("number of visits, each user's clamped", gaussian_sigma(share * rho, clamp), clamp),
                Gaussian(
                    "weighted visits per tower and hour, times 65536", gaussian_sigma((1 - share) * rho, norm), norm
                ),
            )

        totals, series = calibrate(events_at, settings.privacy.epsilon, settings.privacy.delta, on_integers=True)
        return {TOTALS: (totals,), SERIES: (series,)}

    def totals(self, plan: Plan, counts: Counts, noise: Noise) -> Values:
        """The noisy number of visits, an integer."""
        (event,) = plan[TOTALS]
        assert isinstance(event, Gaussian)
        return {"visits": noise.discrete_gaussian(np.array([present(counts.visit_total)]), event)}

    def clusters(self, plan: Plan, totals: Values, places: Places) -> NDArray[np.int64]:
        """Every tower alone: what towers share is found in the noisy matrix itself."""
        return alone(places.count(self.places))

    def series(self, plan: Plan, counts: Counts, labels: NDArray[np.int64], noise: Noise) -> Values:
        """The noisy weighted matrix, dense over the public towers; exact in units of 2^-16."""
        (event,) = plan[SERIES]
        assert isinstance(event, Gaussian)
        noisy = noise.discrete_gaussian(present(counts.series), event)
        return {"series": noisy / WEIGHT_UNIT, "kept": np.full(len(noisy), HOURS)}

    def estimate(
        self, settings: Settings, plan: Plan, totals: Values, labels: NDArray[np.int64], drawn: Values, places: Places
    ) -> Estimate:
        """Denoise the matrix, drop what is negative, scale to the noisy number of visits."""
        (event,) = plan[SERIES]
        assert isinstance(event, Gaussian)
        known = posterior(drawn["series"], event.sigma / WEIGHT_UNIT, places.tower_xy)
        shape = np.maximum(known.mean, 0.0)
        visits = max(float(totals["visits"].item()), 0.0)
        # A city that does not rise above the noise has no shape, and then a total says nothing of any cell.
        scale = visits / max(shape.sum(), 1.0) if shape.any() else 0.0
        # A weight is at most one, so a visit is never less uncertain than a weighted one, however small the total is.
        return Estimate(scale * shape, max(scale, 1.0) * known.standard_error(places.to_cells(self.places)))
