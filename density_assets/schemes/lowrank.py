"""`lowrank`: weigh instead of sampling, measure by Gaussian noise, and let structure separate signal from noise.

A user's week is a vector of n ones over (tower, hour), scaled by min(1, sqrt(weight_l/n)): its norm is at most
sqrt(weight_l), nothing is thrown away and nothing is random. One Gaussian mechanism measures the sum of these
vectors, a second and much cheaper one the number of visits, for scale. A third measures the visits per tower over the
week: there a user's vector b may be longer, min(1, sqrt(tower_l/Σb²)), so these totals are hardly biased by weights and
say by how much the matrix is. The proof is one line: three Gaussian queries, calibrated together.

Weeks can be estimated with what earlier weeks have said (`learning.py`); `estimate` is that of a week alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import diags_array

from density_assets.calendar import HOURS
from density_assets.errors import BadInput
from density_assets.estimation.shrinkage import Posterior, posterior
from density_assets.estimation.sizes import Totals, tower_ratio
from density_assets.estimation.weeks.state import Measured
from density_assets.geography.places import Kind, Places
from density_assets.privacy.calibration import calibrate, gaussian_sigma
from density_assets.privacy.events import Event, Gaussian
from density_assets.privacy.noise import Noise
from density_assets.privacy.sensitivity import WEIGHT_UNIT, clamped_total, tower_totals_l2, weighted_l2
from density_assets.schemes.scheme import SERIES, TOTALS, Counts, Estimate, Plan, Values, alone, present
from density_assets.settings import Settings

DEFAULT_SPLIT = 0.03  # of the budget, for the number of visits
WEIGHS_MOST = 1.0  # so a visit is never less uncertain than a weighted one, however small the noisy total is


class _Query(NamedTuple):
    """What is counted, how much one user changes it, and its share of the budget."""

    words: str
    sensitivity: float
    share: float


@dataclass(frozen=True)
class LowRank:
    """The scheme `lowrank`."""

    name: str = "lowrank"
    places: Kind = "towers"
    clustered: bool = False
    own_settings: ClassVar[tuple[str, ...]] = ("tower_l", "tower_share")

    def reads(self, settings: Settings) -> Mapping[str, tuple[str, ...]]:
        """The number of visits and the totals of the towers, and the weighted series of the towers."""
        return {TOTALS: ("visit_total", "tower_totals"), SERIES: ("tower_series",)}

    def plan(self, settings: Settings) -> Plan:
        """Gaussian queries that share the budget; the matrix has what the totals leave."""
        totals = self._totals(settings)
        left = 1.0 - sum(query.share for query in totals)
        if left <= 0:
            raise BadInput(
                f"totals must leave a part of the budget to the matrix, but scheme.split and scheme.tower_share leave "
                f"{left:.3g} of 1: lower them"
            )
        matrix = _Query("weighted visits per tower and hour, times 65536", weighted_l2(settings.scheme.weight_l), left)

        def events_at(rho: float) -> tuple[Gaussian, ...]:
            return tuple(
                Gaussian(query.words, gaussian_sigma(query.share * rho, query.sensitivity), query.sensitivity)
                for query in (*totals, matrix)
            )

        *first, last = calibrate(events_at, settings.privacy.epsilon, settings.privacy.delta, on_integers=True)
        return {TOTALS: tuple(first), SERIES: (last,)}

    def _totals(self, settings: Settings) -> tuple[_Query, ...]:
        """The queries of the first door."""
        share, clamp = settings.scheme.split or DEFAULT_SPLIT, clamped_total(settings.privacy.visits_clamp)
        norm, tower_share = tower_totals_l2(settings.scheme.tower_l), settings.scheme.tower_share
        return (
            _Query("number of visits, each user's clamped", clamp, share),
            _Query("weighted visits per tower, times 65536", norm, tower_share),
        )

    def totals(self, plan: Plan, counts: Counts, noise: Noise) -> Values:
        """The noisy number of visits, and the noisy weighted visits per tower in units of 2^-16: integers."""
        of_visits, of_towers = map(_gaussian, plan[TOTALS])
        visits = noise.discrete_gaussian(np.array([present(counts.visit_total)]), of_visits)
        return {"visits": visits, "towers": noise.discrete_gaussian(present(counts.tower_totals), of_towers)}

    def clusters(self, plan: Plan, totals: Values, places: Places) -> NDArray[np.int64]:
        """Every tower alone: what towers share is found in the noisy matrix itself."""
        return alone(places.count(self.places))

    def series(self, plan: Plan, counts: Counts, labels: NDArray[np.int64], noise: Noise) -> Values:
        """The noisy weighted matrix, dense over the public towers; exact in units of 2^-16."""
        noisy = noise.discrete_gaussian(present(counts.series), _gaussian(plan[SERIES][0]))
        return {"series": noisy / WEIGHT_UNIT, "kept": np.full(len(noisy), HOURS)}

    def estimate(
        self, settings: Settings, plan: Plan, totals: Values, labels: NDArray[np.int64], drawn: Values, places: Places
    ) -> Estimate:
        """Denoise the matrix, give each tower the size its total says, scale to the noisy number of visits.

        With X the denoised matrix, f the factors of towers, M the map to cells and g the visits per unit of f X, cells
        are g · M f X. Their error is that of a product of independent factors,

            SE² = (g² + SE(g)²) · (SE(M f X)² + (M (SE(f) X))²) + SE(g)² · (M f X)²,    SE(g) = σ_visits / Σ f X.

        Errors of the factors of one cell's towers are added as they are, not as squares: neighbours share them.
        """
        of_visits, of_towers = map(_gaussian, plan[TOTALS])
        known, to_cells = _denoised(plan, drawn, places), places.to_cells(self.places)
        weighted = np.maximum(known.mean, 0.0)
        measured = Totals(totals["towers"] / WEIGHT_UNIT, np.full(len(weighted), of_towers.sigma / WEIGHT_UNIT))
        ratio = tower_ratio(measured, Totals(weighted.sum(axis=1), known.week_error()), places.tower_xy)
        shape = ratio.factor[:, None] * weighted
        scale, scale_error = _scale(shape, totals["visits"].item()), _scale(shape, of_visits.sigma)
        by_filter = known.standard_error(to_cells @ diags_array(ratio.factor))
        by_factor = to_cells @ (ratio.error[:, None] * weighted)
        by_shape = np.hypot(max(scale, WEIGHS_MOST), scale_error) * np.hypot(by_filter, by_factor)
        return Estimate(scale * shape, np.hypot(by_shape, scale_error * (to_cells @ shape)))

    def measured(self, plan: Plan, totals: Values, drawn: Values) -> Measured:
        """What the doors drew of a week, in visits and weighted visits, as an estimate with earlier weeks takes it."""
        of_visits, of_towers = map(_gaussian, plan[TOTALS])
        return Measured(
            series=drawn["series"],
            sigma=_gaussian(plan[SERIES][0]).sigma / WEIGHT_UNIT,
            visits=float(totals["visits"].item()),
            visits_sigma=of_visits.sigma,
            towers=totals["towers"] / WEIGHT_UNIT,
            towers_sigma=of_towers.sigma / WEIGHT_UNIT,
            towers_norm=of_towers.sensitivity / WEIGHT_UNIT,
        )


def _denoised(plan: Plan, drawn: Values, places: Places) -> Posterior:
    """What is known of the weighted matrix."""
    return posterior(drawn["series"], _gaussian(plan[SERIES][0]).sigma / WEIGHT_UNIT, places.tower_xy)


def _scale(shape: NDArray[np.float64], visits: float) -> float:
    """Visits per unit of a shape. A city that does not rise above the noise has none: no cell for visits to go to."""
    return max(visits, 0.0) / max(shape.sum(), 1.0) if shape.any() else 0.0


def _gaussian(event: Event) -> Gaussian:
    """The event of a plan of this scheme."""
    assert isinstance(event, Gaussian)
    return event
