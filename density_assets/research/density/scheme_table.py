"""Every scheme against the truth of a synthetic city: MRE, PC and EMD, for both calibrations."""

from itertools import product

import polars as pl
from matplotlib.figure import Figure

from density_assets.research.density.releases import BY, CHOSEN, EMD_HOURS, label, points, printed, released, score
from density_assets.research.density.week import TABLES, Week, bounds, load_week
from density_assets.research.markdown_tables import figure_cell, markdown
from density_assets.research.plots.curves import curves
from density_assets.research.study import Row, Study, averaged
from density_assets.schemes import SCHEMES

EPSILONS = (0.1, 0.3, 1.0)
IMPROVABLE = ("efpa", "efpag")
METRICS = ("mre", "pc", "emd")
CALIBRATIONS = ("published", "sound")
SERIES = ("fpa", "efpa", "efpag", "efpag_iris", "lowrank")  # noise on whole series; the others on counts


def _grid() -> tuple[Row, ...]:
    """Every scheme, calibration and epsilon; for ours nothing is printed."""
    variants = [(name, improved) for name in SCHEMES for improved in ((True, False) if name in IMPROVABLE else (True,))]
    calibrated = [(*variant, calibration) for variant, calibration in product(variants, CALIBRATIONS)]
    return points((case for case in calibrated if case != ("lowrank", True, "published")), EPSILONS)


def once(week: Week, point: Row, seed: int) -> list[Row]:
    """One draw with seeded noise, and how far it is from the truth."""
    return [score(week, released(week, point, seed), EMD_HOURS)]


def figures(week: Week, results: pl.DataFrame) -> dict[str, Figure]:
    """Each metric over epsilon, one line per scheme: noise on counts and noise on series, as published and sound."""
    means = averaged(results, BY, METRICS)
    named = means.with_columns(line=pl.Series([label(row) for row in means.iter_rows(named=True)], dtype=pl.String))
    on_series = pl.col("scheme").is_in(SERIES)
    parts = {
        f"schemes_{kind}_{calibration}": named.filter(chosen, calibration=calibration)
        for (kind, chosen), calibration in product({"counts": ~on_series, "series": on_series}.items(), CALIBRATIONS)
    }
    return {name: _over_epsilon(part) for name, part in parts.items() if len(part)}


def _over_epsilon(part: pl.DataFrame) -> Figure:
    figure = curves(part, "epsilon", METRICS, "line", log=("mre", "emd"))
    for axes in figure.axes:
        axes.set_xscale("log")
        axes.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
        axes.set_xticks([], minor=True)
    return figure


def summary(results: pl.DataFrame) -> str:
    """Mean and standard deviation over repetitions, beside the published numbers."""
    rows = [
        [
            label(row),
            row["calibration"],
            f"{row['epsilon']:g}",
            *(figure_cell(row, metric) for metric in METRICS),
            printed(row),
        ]
        for row in averaged(results, BY, METRICS).sort("epsilon", "calibration", "mre").iter_rows(named=True)
    ]
    head = ("scheme", "calibration", "epsilon", "MRE", "PC", "EMD (m)", "published MRE / PC / EMD")
    return markdown(head, rows, "lll")


SCHEME_TABLE = Study(
    name="schemes",
    title="Every scheme, calibration and epsilon",
    grid=_grid(),
    load=load_week,
    once=once,
    figures=figures,
    summary=summary,
    about=bounds,
    weekly=True,
    tables=TABLES,
    chooses=CHOSEN,
    version=2,
)
