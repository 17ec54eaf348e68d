"""What studies of releases share: one seeded release of a week, and its distance from the truth."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from density_assets.metrics.correlation import pearson
from density_assets.metrics.earth_movers import mean_emd
from density_assets.metrics.relative_error import mre
from density_assets.privacy.noise import SimulatedNoise
from density_assets.schemes import SCHEMES
from density_assets.schemes.scheme import Floats, Plan
from density_assets.settings import PrivacySettings, SchemeSettings, Settings
from density_assets.studies.inputs import Week
from density_assets.studies.study import Row

EMD_HOURS = range(3, 168, 12)  # 03:00 and 15:00 of every day: EMD is a thousand times dearer than the other metrics
# MRE, PC and EMD as printed, at epsilon 0.3, delta 2e-6, l 30 (Acs & Castelluccia 2014)
PUBLISHED = {"lpa": (1.01, 0.47, 341.0), "efpa": (None, None, 258.0), "efpag": (0.17, 0.96, 188.0)}


def settings_of(point: Mapping[str, Any]) -> Settings:
    """The settings a point of a grid asks for; what it does not name is as by default."""
    privacy = {key: point[key] for key in ("epsilon", "visits_per_user") if key in point}
    scheme = {key: point[key] for key in ("calibration", "improved") if key in point}
    return Settings(privacy=PrivacySettings(**privacy), scheme=SchemeSettings(name=point["scheme"], **scheme))


@cache
def _plan(privacy: PrivacySettings, scheme: SchemeSettings) -> Plan:
    """Calibration is a search, so each point is calibrated once, not in every repetition."""
    return SCHEMES[scheme.name].plan(Settings(privacy=privacy, scheme=scheme))


def released(week: Week, point: Mapping[str, Any], seed: int) -> Floats:
    """Visits per cell and hour, as a release with these settings and seeded noise would have them."""
    scheme, settings, noise = SCHEMES[point["scheme"]], settings_of(point), SimulatedNoise(seed)
    plan, counts = _plan(settings.privacy, settings.scheme), week.counts(scheme)
    totals = scheme.totals(plan, counts, noise)
    labels = scheme.clusters(plan, totals, week.places)
    drawn = scheme.series(plan, counts, labels, noise)
    estimate = scheme.estimate(settings, plan, totals, labels, drawn, week.places)
    return np.asarray(week.places.to_cells(scheme.places) @ estimate.series)


def score(week: Week, density: Floats, emd_hours: Sequence[int] = ()) -> Row:
    """MRE and PC, and EMD if hours are given."""
    row: Row = {"mre": mre(week.truth, density), "pc": pearson(week.truth, density)}
    if len(emd_hours):
        row["emd"] = mean_emd(week.truth, density, week.centroids, emd_hours)
    return row


def label(row: Mapping[str, Any]) -> str:
    """A scheme's name; a minus says that the improvements of §5.4 are off."""
    return str(row["scheme"]) + ("" if row.get("improved", True) else " −")
