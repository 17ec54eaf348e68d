"""What studies of releases share: one seeded release of a week, and its distance from the truth."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from density_assets.privacy.noise import SimulatedNoise
from density_assets.quality.accuracy import mean_emd, mre, pearson
from density_assets.research.density.week import Week
from density_assets.research.study import Row
from density_assets.schemes import SCHEMES
from density_assets.schemes.run import run
from density_assets.schemes.scheme import Floats, Plan
from density_assets.settings import PrivacySettings, SchemeSettings, Settings

# EMD is a thousand times dearer than the other metrics. Every seventh hour of a week is each hour of the day once, on
# days that take turns: errors differ much between day and night, so no hour of the day may weigh more than another.
EMD_HOURS = range(0, 168, 7)
CHOSEN = frozenset({"epsilon", "name", "calibration", "improved"})  # settings that points name
BY = ["scheme", "improved", "calibration", "epsilon"]
# MRE, PC and EMD as printed, at epsilon 0.3, delta 2e-6, l 30 (Acs & Castelluccia 2014)
PUBLISHED = {"lpa": (1.01, 0.47, 341.0), "efpa": (None, None, 258.0), "efpag": (0.17, 0.96, 188.0)}
PUBLISHED_EPSILON = 0.3


def points(schemes: Iterable[tuple[str, bool, str]], epsilons: Iterable[float]) -> tuple[Row, ...]:
    """Every (scheme, improved, calibration) at every epsilon."""
    return tuple(
        {"scheme": scheme, "improved": improved, "calibration": calibration, "epsilon": epsilon}
        for (scheme, improved, calibration), epsilon in product(schemes, epsilons)
    )


def settings_of(week: Week, point: Mapping[str, Any]) -> Settings:
    """The settings a point of a grid asks for; what it does not name is as the week was made."""
    made = week.settings
    privacy = {key: point[key] for key in ("epsilon", "visits_per_user") if key in point}
    scheme = {"name": point["scheme"]} | {key: point[key] for key in ("calibration", "improved") if key in point}
    changed = {"privacy": made.privacy.model_copy(update=privacy), "scheme": made.scheme.model_copy(update=scheme)}
    return made.model_copy(update=changed)


@cache
def _plan(privacy: PrivacySettings, scheme: SchemeSettings) -> Plan:
    """Calibration is a search, so each point is calibrated once, not in every repetition."""
    return SCHEMES[scheme.name].plan(Settings(privacy=privacy, scheme=scheme))


def plan_of(week: Week, point: Mapping[str, Any]) -> Plan:
    """What a release of this week would spend at a point."""
    settings = settings_of(week, point)
    return _plan(settings.privacy, settings.scheme)


def released(week: Week, point: Mapping[str, Any], seed: int) -> Floats:
    """Visits per cell and hour, as a release with these settings and seeded noise would have them."""
    scheme, plan, noise = SCHEMES[point["scheme"]], plan_of(week, point), SimulatedNoise(seed)
    return run(scheme, settings_of(week, point), plan, week.counts(scheme), week.places, noise)


def score(week: Week, density: Floats, emd_hours: Sequence[int] = ()) -> Row:
    """MRE and PC, and EMD if hours are given."""
    row: Row = {"mre": mre(week.truth, density), "pc": pearson(week.truth, density)}
    if len(emd_hours):
        row["emd"] = mean_emd(week.truth, density, week.centroids, emd_hours)
    return row


def label(row: Mapping[str, Any]) -> str:
    """A scheme's name; a minus says that the improvements of §5.4 are off."""
    return str(row["scheme"]) + ("" if row.get("improved", True) else " −")


def lines(results: pl.DataFrame) -> pl.Series:
    """For each row the name of its scheme and calibration."""
    rows = results.select("scheme", "improved", "calibration").iter_rows(named=True)
    return pl.Series([f"{label(row)} ({row['calibration']})" for row in rows])


def printed(row: Mapping[str, Any], metrics: int = 3) -> str:
    """The first few of MRE, PC and EMD as the paper prints them for such a release; empty if it does not."""
    values = PUBLISHED.get(row["scheme"], ()) if row["epsilon"] == PUBLISHED_EPSILON and row["improved"] else ()
    return " / ".join("–" if value is None else f"{value:g}" for value in values[:metrics])


def short(values: Floats) -> list[float | None]:
    """A metric of many places or hours as it is kept: none where it is undefined."""
    return [None if np.isnan(value) else round(float(value), 4) for value in values]


def stacked(values: pl.Series) -> Floats:
    """Metrics of many places or hours, one row per repetition; nan where undefined."""
    return np.array(values.to_list(), dtype=np.float64)
