"""A release as a whole: the steps of a scheme, one after another, with noise of a caller's choice.

    totals (door) → clusters → series (door) → estimate → cells

This is the algorithm as the papers print it, for simulations, attacks and tests. The pipeline takes the same steps one
asset at a time, because each door is charged to the ledger and drawn once (`graph/doors.py`). The plan comes first and
is given: calibration is a search, and who draws many times from one plan searches once.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from density_assets.geography.places import Places
from density_assets.privacy.noise import Noise
from density_assets.schemes.learning import estimate_after
from density_assets.schemes.lowrank import LowRank
from density_assets.schemes.scheme import Counts, Estimate, Plan, Scheme, Values
from density_assets.series import Floats
from density_assets.settings import Settings


@dataclass(frozen=True)
class Drawn:
    """What one run gives out: both doors, and the clusters between them. All else follows without the people."""

    totals: Values
    labels: NDArray[np.int64]
    series: Values


def draw(scheme: Scheme, plan: Plan, counts: Counts, places: Places, noise: Noise) -> Drawn:
    """Both doors, in the order in which they draw.

    Guarantees: costs what the plan says; clusters see noisy totals and public geography alone.
    """
    totals = scheme.totals(plan, counts, noise)
    labels = scheme.clusters(plan, totals, places)
    return Drawn(totals, labels, scheme.series(plan, counts, labels, noise))


def cell_density(scheme: Scheme, settings: Settings, plan: Plan, drawn: Drawn, places: Places) -> Floats:
    """Visits per cell and hour, from noisy numbers and public geography alone, as a city's first week is released."""
    return np.asarray(places.to_cells(scheme.places) @ _first_week(scheme, settings, plan, drawn, places).series)


def _first_week(scheme: Scheme, settings: Settings, plan: Plan, drawn: Drawn, places: Places) -> Estimate:
    """The estimate without a past; a scheme that learns falls back to its own where the estimator fails."""
    estimate = None
    if isinstance(scheme, LowRank):
        measured = scheme.measured(plan, drawn.totals, drawn.series)
        estimate = estimate_after(None, measured, places.to_cells("towers"), places.tower_xy)
    return estimate or scheme.estimate(settings, plan, drawn.totals, drawn.labels, drawn.series, places)


def run(scheme: Scheme, settings: Settings, plan: Plan, counts: Counts, places: Places, noise: Noise) -> Floats:
    """Visits per cell and hour of one release with these settings."""
    return cell_density(scheme, settings, plan, draw(scheme, plan, counts, places, noise), places)
