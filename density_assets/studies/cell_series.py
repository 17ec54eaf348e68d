"""The series of one cell as each scheme would release it (Acs & Castelluccia 2014, Figs. 3–5)."""

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from density_assets.calendar import HOURS
from density_assets.metrics.relative_error import mre_per_cell
from density_assets.plots.rhythm import series_panels
from density_assets.studies.density import label, released
from density_assets.studies.inputs import TABLES, Week, load_week
from density_assets.studies.study import Row, Study
from density_assets.studies.tables import markdown

GRID: tuple[Row, ...] = tuple(
    {"scheme": scheme, "improved": improved, "calibration": calibration, "epsilon": 0.3}
    for scheme, improved, calibration in (
        ("lpa", True, "published"),
        ("efpag", False, "published"),
        ("efpag", True, "published"),
        ("lowrank", True, "sound"),
    )
)
FIGURE = {"lpa": "Fig. 3", "efpag −": "Fig. 4", "efpag": "Fig. 5", "lowrank": "ours"}


def shown_cell(week: Week) -> int:
    """The cell whose visits are the median: by the truth, which a study of synthetic people may look at."""
    return int(np.argsort(week.truth.sum(axis=1))[len(week.truth) // 2])


def once(week: Week, point: Row, seed: int) -> list[Row]:
    """The released week of the shown cell, hour by hour, and its error."""
    cell = shown_cell(week)
    values = released(week, point, seed)[cell]
    error = float(mre_per_cell(week.truth[[cell]], values[None])[0])
    return [{"series": np.round(values, 2).tolist(), "mre": error}]


def figures(week: Week, results: pl.DataFrame) -> dict[str, Figure]:
    """One panel per scheme: the original, what truncation leaves of it, one release, and where 90 % of them lie."""
    cell = shown_cell(week)
    truncated = (week.places.to_cells("towers") @ week.truncated)[cell]
    panels = {}
    for (name,), part in results.with_columns(line=_names(results)).group_by("line", maintain_order=True):
        drawn = np.array(part["series"].to_list()).reshape(-1, HOURS)
        panels[f"{name} ({FIGURE[str(name)]})"] = drawn
    return {"cell_series": series_panels(panels, original=week.truth[cell], truncated=truncated)}


def summary(results: pl.DataFrame) -> str:
    """The error of that one cell."""
    means = results.with_columns(line=_names(results)).group_by("line", maintain_order=True)
    table = means.agg(pl.col("mre").mean(), pl.col("mre").std().fill_null(0.0).alias("sd"))
    rows = [[FIGURE[name], name, f"{mre:.3f} ± {sd:.3f}"] for name, mre, sd in table.rows()]
    text = (
        "The cell with the median number of visits, epsilon 0.3. Thin grey: the original; dotted: after truncation to "
        "l = 30; coloured: one release, and the band in which nine of ten releases lie. Noise on every count hides the "
        "rhythm (Fig. 3); clustered Fourier series have it but stay at the level of the truncated counts, with nights "
        "that are noise (Fig. 4); scaling and smoothing mend both (Fig. 5)."
    )
    return text + "\n\n" + markdown(("figure", "scheme", "MRE of the cell"), rows, "ll")


def _names(results: pl.DataFrame) -> pl.Series:
    return pl.Series([label(row) for row in results.select("scheme", "improved").iter_rows(named=True)])


CELL_SERIES = Study(
    name="cell_series",
    title="One cell, hour by hour (Figs. 3–5)",
    grid=GRID,
    load=load_week,
    once=once,
    figures=figures,
    summary=summary,
    weekly=True,
    tables=TABLES,
)
