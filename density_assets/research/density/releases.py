"""One seeded release of a week, its distance from the truth, and that of every scheme: MRE, PC and EMD."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from density_assets.privacy.noise import SimulatedNoise
from density_assets.quality.accuracy import mean_emd, mre, pearson
from density_assets.research.density.week import OF_A_WEEK, KnownWeek
from density_assets.research.plots.curves import curves
from density_assets.research.published_metrics import EMD_HOURS
from density_assets.research.results import figure_cell, markdown
from density_assets.research.study import Row, Study, averaged, cached_plan
from density_assets.schemes import SCHEMES
from density_assets.schemes.run import run
from density_assets.schemes.scheme import Plan
from density_assets.series import Floats
from density_assets.settings import Settings

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


def settings_of(week: KnownWeek, point: Mapping[str, Any]) -> Settings:
    """The settings a point of a grid asks for; what it does not name is as the week was made."""
    made = week.settings
    privacy = {key: point[key] for key in ("epsilon", "visits_per_user") if key in point}
    scheme = {"name": point["scheme"]} | {key: point[key] for key in ("calibration", "improved") if key in point}
    changed = {"privacy": made.privacy.model_copy(update=privacy), "scheme": made.scheme.model_copy(update=scheme)}
    return made.model_copy(update=changed)


def plan_of(week: KnownWeek, point: Mapping[str, Any]) -> Plan:
    """What a release of this week would spend at a point."""
    settings = settings_of(week, point)
    return cached_plan(settings.privacy, settings.scheme)


def released(week: KnownWeek, point: Mapping[str, Any], seed: int) -> Floats:
    """Visits per cell and hour, as a release with these settings and seeded noise would have them."""
    scheme, plan, noise = SCHEMES[point["scheme"]], plan_of(week, point), SimulatedNoise(seed)
    return run(scheme, settings_of(week, point), plan, week.counts(scheme), week.places, noise)


def score(week: KnownWeek, density: Floats, emd_hours: Sequence[int] = ()) -> Row:
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


def published_numbers(row: Mapping[str, Any], metrics: int = 3) -> str:
    """The first few of MRE, PC and EMD as the paper prints them for such a release; empty if it does not."""
    values = PUBLISHED.get(row["scheme"], ()) if row["epsilon"] == PUBLISHED_EPSILON and row["improved"] else ()
    return " / ".join("–" if value is None else f"{value:g}" for value in values[:metrics])


def rounded(values: Floats) -> list[float | None]:
    """A metric of many places or hours as it is kept: none where it is undefined."""
    return [None if np.isnan(value) else round(float(value), 4) for value in values]


def stack_repetitions(values: pl.Series) -> Floats:
    """Metrics of many places or hours, one row per repetition; nan where undefined."""
    return np.array(values.to_list(), dtype=np.float64)


# --- every scheme ----------------------------------------------------------------------------------------------------


TABLE_EPSILONS = (0.1, 0.3, 1.0)
IMPROVABLE = ("efpa", "efpag")
SCHEME_METRICS = ("mre", "pc", "emd")
CALIBRATIONS = ("published", "sound")
ON_SERIES = ("fpa", "efpa", "efpag", "efpag_iris", "lowrank")  # noise on whole series; the others on counts


def _scheme_grid() -> tuple[Row, ...]:
    """Every scheme, calibration and epsilon; for ours nothing is printed."""
    variants = [(name, improved) for name in SCHEMES for improved in ((True, False) if name in IMPROVABLE else (True,))]
    calibrated = [(*variant, calibration) for variant, calibration in product(variants, CALIBRATIONS)]
    return points((case for case in calibrated if case != ("lowrank", True, "published")), TABLE_EPSILONS)


def score_scheme(week: KnownWeek, point: Row, seed: int) -> list[Row]:
    """One draw with seeded noise, and how far it is from the truth."""
    return [score(week, released(week, point, seed), EMD_HOURS)]


def plot_schemes(week: KnownWeek, results: pl.DataFrame) -> dict[str, Figure]:
    """Each metric over epsilon, one line per scheme: noise on counts and noise on series, as published and sound."""
    means = averaged(results, BY, SCHEME_METRICS)
    named = means.with_columns(line=pl.Series([label(row) for row in means.iter_rows(named=True)], dtype=pl.String))
    on_series = pl.col("scheme").is_in(ON_SERIES)
    parts = {
        f"schemes_{kind}_{calibration}": named.filter(chosen, calibration=calibration)
        for (kind, chosen), calibration in product({"counts": ~on_series, "series": on_series}.items(), CALIBRATIONS)
    }
    return {name: _over_epsilon(part) for name, part in parts.items() if len(part)}


def _over_epsilon(part: pl.DataFrame) -> Figure:
    figure = curves(part, "epsilon", SCHEME_METRICS, "line", log=("mre", "emd"))
    for axes in figure.axes:
        axes.set_xscale("log")
        axes.set_xticks(TABLE_EPSILONS, [f"{epsilon:g}" for epsilon in TABLE_EPSILONS])
        axes.set_xticks([], minor=True)
    return figure


def tabulate_schemes(results: pl.DataFrame) -> str:
    """Mean and standard deviation over repetitions, beside the published numbers."""
    rows = [
        [
            label(row),
            row["calibration"],
            f"{row['epsilon']:g}",
            *(figure_cell(row, metric) for metric in SCHEME_METRICS),
            published_numbers(row),
        ]
        for row in averaged(results, BY, SCHEME_METRICS).sort("epsilon", "calibration", "mre").iter_rows(named=True)
    ]
    head = ("scheme", "calibration", "epsilon", "MRE", "PC", "EMD (m)", "published MRE / PC / EMD")
    return markdown(head, rows, "lll")


SCHEME_TABLE = Study(
    name="schemes",
    title="Every scheme, calibration and epsilon",
    grid=_scheme_grid(),
    once=score_scheme,
    figures=plot_schemes,
    summary=tabulate_schemes,
    version=2,
    **OF_A_WEEK,
)
