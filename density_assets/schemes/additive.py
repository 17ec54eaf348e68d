"""`lpa` and `gpa`: noise on every count, the baselines.

lpa: Laplace noise on every count of the cover (Acs & Castelluccia 2014, §5.3). gpa: Gaussian noise on every count of
the cells, without a cover (Acs et al. 2018, §4.3).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from density_assets.calendar import HOURS
from density_assets.geography.places import Kind, Places
from density_assets.privacy import published
from density_assets.privacy.calibration import calibrate, gaussian_sigma, laplace_scale
from density_assets.privacy.events import Gaussian, Laplace
from density_assets.privacy.noise import Noise
from density_assets.privacy.sensitivity import truncated_l1, truncated_l2
from density_assets.schemes.scheme import (
    SERIES,
    TOTALS,
    WHERE,
    Counts,
    Estimate,
    Plan,
    Values,
    alone,
    mapped_error,
    present,
)
from density_assets.settings import PrivacySettings, Settings


@dataclass(frozen=True)
class Additive:
    """Independent noise on every count of the places; one door, no totals, no clusters."""

    name: str
    places: Kind
    gaussian: bool
    clustered: bool = False
    own_settings: ClassVar[tuple[str, ...]] = ()

    def reads(self, settings: Settings) -> Mapping[str, tuple[str, ...]]:
        """The series alone."""
        return {TOTALS: (), SERIES: (WHERE[self.places],)}

    def plan(self, settings: Settings) -> Plan:
        """One event for all counts."""
        privacy = settings.privacy
        if settings.scheme.calibration == "published":
            return {SERIES: (self._published(privacy),)}
        return {SERIES: calibrate(lambda rho: (self._event(privacy, rho),), privacy.epsilon, privacy.delta)}

    def _event(self, privacy: PrivacySettings, rho: float) -> Gaussian | Laplace:
        query, l = f"truncated visits per hour and place ({self.places})", privacy.visits_per_user
        if self.gaussian:
            return Gaussian(query, gaussian_sigma(rho, truncated_l2(l)), truncated_l2(l))
        return Laplace(query, laplace_scale(rho, truncated_l1(l)), truncated_l1(l))

    def _published(self, privacy: PrivacySettings) -> Gaussian | Laplace:
        query, l = f"truncated visits per hour and place ({self.places})", privacy.visits_per_user
        if self.gaussian:
            return Gaussian(query, published.gpa_sigma(l, privacy.epsilon, privacy.delta), math.sqrt(l))
        return Laplace(query, published.laplace_scale(l, privacy.epsilon), l)

    def totals(self, plan: Plan, counts: Counts, noise: Noise) -> Values:
        """None needed: the series carry their own."""
        return {}

    def clusters(self, plan: Plan, totals: Values, places: Places) -> NDArray[np.int64]:
        """Every place alone."""
        return alone(places.count(self.places))

    def series(self, plan: Plan, counts: Counts, labels: NDArray[np.int64], noise: Noise) -> Values:
        """Every count with noise of its own."""
        (event,) = plan[SERIES]
        counted = present(counts.series)
        assert isinstance(event, Gaussian | Laplace)
        noisy = noise.gaussian(counted, event) if isinstance(event, Gaussian) else noise.laplace(counted, event)
        return {"series": noisy, "kept": np.full(len(counted), HOURS)}

    def estimate(
        self, settings: Settings, plan: Plan, totals: Values, labels: NDArray[np.int64], drawn: Values, places: Places
    ) -> Estimate:
        """Negative counts become zero; nothing else is done."""
        (event,) = plan[SERIES]
        error = np.full(drawn["series"].shape, event.standard_deviation)
        return Estimate(np.maximum(drawn["series"], 0.0), mapped_error(places.to_cells(self.places), error))
