"""`fpa`, `efpa`, `efpag`, `efpag_iris`: noisy Fourier coefficients of clustered series (Acs & Castelluccia 2014, Alg.
2–4).

Noisy totals of the places tell which are too small to carry a shape of their own; those are clustered with their
neighbours. Each cluster's summed series is transformed (orthonormal DCT), its first k coefficients get noise and the
rest are dropped. k is fixed (fpa) or chosen per cluster by the exponential mechanism, trading what is cut off against
the noise of what is kept:

    u(k) = sqrt(Σ_{i>k} F_i²) + noise(k)

Laplace noise (fpa, efpa) or Gaussian (efpag). The series of a place is its cluster's shape, scaled to its own noisy
total. `improved` takes totals from one sampled visit per user and smooths the nights (§5.4). The chapter's scheme on
cells smooths them always (Acs et al. 2018, Alg. 1, line 4).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import shapely
from numpy.typing import NDArray

from density_assets.calendar import HOURS
from density_assets.estimation.clustering import cluster, scale_back
from density_assets.estimation.rhythm import coefficients, keep_first, series_from, smooth_nights, tail_norms
from density_assets.geography.places import Kind, Places
from density_assets.privacy.calibration import calibrate, gaussian_sigma, laplace_scale, selection_epsilon
from density_assets.privacy.events import Event, Gaussian, Laplace, LaplaceVector, Selection
from density_assets.privacy.noise import Noise
from density_assets.privacy.sensitivity import clamped_total, one_visit, truncated_l1, truncated_l2
from density_assets.schemes.published_fourier import published_plan
from density_assets.schemes.scheme import SERIES, TOTALS, WHERE, Counts, Estimate, Plan, Values, mapped_error, present
from density_assets.series import Floats
from density_assets.settings import Settings

FIXED_K = 100  # coefficients kept by `fpa`, a constant chosen on synthetic cities
SELECTION_SHARE = 0.15  # of the series' budget, for choosing k
TOTALS_SHARES = {"sampled": 0.8, "visits": 0.1, "truncated": 0.1}  # of the totals' budget, when improved
RELATIVE_NOISE = 0.01  # clusters grow until all coefficients' noise is below this part of their total


@dataclass(frozen=True)
class Fourier:
    """A scheme of the Fourier family."""

    name: str
    places: Kind
    gaussian: bool
    selects: bool = True
    improvable: bool = True
    smooths: bool = False  # nights, whether improved or not
    default_split: float = 0.1
    clustered: bool = True
    own_settings: ClassVar[tuple[str, ...]] = ()

    def improved(self, settings: Settings) -> bool:
        """Whether the improvements of §5.4 are used."""
        return self.improvable and settings.scheme.improved

    def reads(self, settings: Settings) -> Mapping[str, tuple[str, ...]]:
        """Improved totals come from the sampled visits, basic ones from the series themselves."""
        series = WHERE[self.places]
        improved = ("one_visit_histogram", "visit_total", series)
        return {TOTALS: improved if self.improved(settings) else (series,), SERIES: (series,)}

    # --- what is spent --------------------------------------------------------------------------------------

    def plan(self, settings: Settings) -> Plan:
        """Totals, then selections and coefficients, sharing one budget."""
        if settings.scheme.calibration == "published":
            return published_plan(self.gaussian, self.selects, self.improved(settings), self.places, settings)
        privacy = settings.privacy
        totals_share = settings.scheme.split or self.default_split

        def parts(rho: float) -> tuple[tuple[Event, ...], tuple[Event, ...]]:
            return self._totals_at(settings, totals_share * rho), self._series_at(settings, (1 - totals_share) * rho)

        events = calibrate(lambda rho: sum(parts(rho), ()), privacy.epsilon, privacy.delta)
        first = len(parts(1.0)[0])
        return {TOTALS: events[:first], SERIES: events[first:]}

    def _totals_at(self, settings: Settings, rho: float) -> tuple[Event, ...]:
        l = settings.privacy.visits_per_user
        if not self.improved(settings):
            return (self._noise_at("truncated visits per place", rho, truncated_l1(l)),)
        sizes = {
            "sampled": one_visit(),
            "visits": clamped_total(settings.privacy.visits_clamp),
            "truncated": truncated_l1(l),
        }
        queries = {
            "sampled": "one visit per user, by tower",
            "visits": "number of visits, each user's clamped",
            "truncated": "number of truncated visits",
        }
        return tuple(self._noise_at(queries[name], rho * share, sizes[name]) for name, share in TOTALS_SHARES.items())

    def _noise_at(self, query: str, rho: float, sensitivity: float) -> Event:
        """Totals may all fall in one place, so L1 and L2 sensitivity are the same."""
        if self.gaussian:
            return Gaussian(query, gaussian_sigma(rho, sensitivity), sensitivity)
        return Laplace(query, laplace_scale(rho, sensitivity), sensitivity)

    def _series_at(self, settings: Settings, rho: float) -> tuple[Event, ...]:
        norm = truncated_l2(settings.privacy.visits_per_user)
        share = SELECTION_SHARE if self.selects else 0.0
        query, scale = "coefficients of each cluster's series", gaussian_sigma((1 - share) * rho, norm)
        noise = Gaussian(query, scale, norm) if self.gaussian else LaplaceVector(query, scale, norm)
        if not self.selects:
            return (noise,)
        return Selection("number of coefficients of each cluster", selection_epsilon(share * rho), norm), noise

    # --- the doors ------------------------------------------------------------------------------------------

    def totals(self, plan: Plan, counts: Counts, noise: Noise) -> Values:
        """Noisy totals: per place, or sampled per tower with two numbers that give their scale."""
        series = present(counts.series)
        if len(plan[TOTALS]) == 1:
            return {"places": _noisy(series.sum(axis=1), plan[TOTALS][0], noise)}
        exact = (
            present(counts.sampled).astype(float),
            np.array([float(present(counts.visit_total))]),
            np.array([series.sum()]),
        )
        return {
            name: _noisy(values, event, noise)
            for name, values, event in zip(TOTALS_SHARES, exact, plan[TOTALS], strict=True)
        }

    def series(self, plan: Plan, counts: Counts, labels: NDArray[np.int64], noise: Noise) -> Values:
        """Noisy coefficients of each cluster's sum, back as series."""
        summed = np.zeros((labels.max() + 1, HOURS))
        np.add.at(summed, labels, present(counts.series))
        exact = coefficients(summed)
        event = plan[SERIES][-1]
        kept = self._kept(plan, exact, noise)
        noisy = (
            noise.gaussian(exact, event) if isinstance(event, Gaussian) else self._laplace(exact, event, kept, noise)
        )
        return {"series": series_from(keep_first(noisy, kept)), "kept": kept}

    def _kept(self, plan: Plan, exact: Floats, noise: Noise) -> NDArray[np.int64]:
        if not self.selects:
            return np.full(len(exact), FIXED_K)
        selection, event = plan[SERIES]
        assert isinstance(selection, Selection)
        return noise.select(tail_norms(exact) + self._noise_norm(event), selection) + 1

    def _noise_norm(self, event: Event) -> Floats:
        """Root of the summed squares of the noise, were the first k coefficients kept."""
        k = np.arange(1, HOURS + 1)
        if isinstance(event, Gaussian | LaplaceVector):
            assert event.standard_deviation is not None
            return np.asarray(np.sqrt(k) * event.standard_deviation, dtype=np.float64)
        assert isinstance(event, Laplace)  # published: noise grows with sqrt(k), and u as printed
        return np.asarray(k * event.scale, dtype=np.float64)

    @staticmethod
    def _laplace(exact: Floats, event: Event, kept: NDArray[np.int64], noise: Noise) -> Floats:
        """Laplace noise; as published, its scale grows with the root of the number of coefficients kept."""
        if isinstance(event, LaplaceVector):
            return noise.laplace(exact, event)
        assert isinstance(event, Laplace)
        unit = noise.laplace(np.zeros_like(exact), event)
        return np.asarray(exact + np.sqrt(kept)[:, None] * unit)

    # --- what to make of it ---------------------------------------------------------------------------------

    def clusters(self, plan: Plan, totals: Values, places: Places) -> NDArray[np.int64]:
        """Merge places until each cluster's total stands the noise (Alg. 3)."""
        most = HOURS if self.selects else FIXED_K
        threshold = float(self._noise_norm(plan[SERIES][-1])[most - 1]) / RELATIVE_NOISE
        if "truncated" in totals:
            # The threshold speaks of truncated visits, improved totals of all visits: one noisy ratio joins the two.
            threshold *= float(totals["visits"].item() / max(totals["truncated"].item(), 1.0))
        shapes = places.shapes(self.places)
        centroids = shapely.get_coordinates(shapely.centroid(shapes))
        return cluster(self.place_totals(totals, places), centroids, np.asarray(shapely.area(shapes)), threshold)

    def place_totals(self, totals: Values, places: Places) -> Floats:
        """Total visits of each place, from whatever the first door drew."""
        if "places" in totals:
            return np.asarray(totals["places"], dtype=np.float64)
        frequencies = np.maximum(totals["sampled"], 0.0)
        towers = max(totals["visits"].item(), 0.0) * frequencies / max(frequencies.sum(), 1.0)
        return np.asarray(places.from_towers(self.places) @ towers)

    def estimate(
        self, settings: Settings, plan: Plan, totals: Values, labels: NDArray[np.int64], drawn: Values, places: Places
    ) -> Estimate:
        """Each place gets its cluster's shape and its own total; nights are smoothed when improved, or always."""
        of_place = self.place_totals(totals, places)
        scaled = scale_back(drawn["series"], labels, of_place)
        error = self._standard_error(plan, drawn, labels, scaled, of_place)
        series = smooth_nights(scaled) if self.smooths or self.improved(settings) else scaled
        return Estimate(series, mapped_error(places.to_cells(self.places), error))

    @staticmethod
    def _standard_error(plan: Plan, drawn: Values, labels: NDArray[np.int64], scaled: Floats, totals: Floats) -> Floats:
        """First-order: noise of k of 168 coefficients spread over the hours, and of the total that scales them."""
        deviation = plan[SERIES][-1].standard_deviation
        assert deviation is not None
        mass = np.maximum(np.maximum(drawn["series"], 0.0).sum(axis=1), 1.0)
        shape_error = (deviation * np.sqrt(drawn["kept"] / HOURS) / mass)[labels] * np.maximum(totals, 0.0)
        total_deviation = plan[TOTALS][0].standard_deviation
        assert total_deviation is not None
        relative = total_deviation / np.maximum(totals, 1.0)
        return np.asarray(np.hypot(shape_error[:, None], np.minimum(relative, 1.0)[:, None] * scaled))


def _noisy(values: Floats, event: Event, noise: Noise) -> Floats:
    if isinstance(event, Gaussian):
        return noise.gaussian(values, event)
    assert isinstance(event, Laplace)
    return noise.laplace(values, event)
