"""Where a release is wrong: cell by cell (Acs & Castelluccia 2014, Figs. 10 and 11; Acs et al. 2018, Fig. 5)."""

from itertools import product

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from density_assets.publication.pictures import boxes_over, metric_maps
from density_assets.quality.accuracy import mre_per_cell, pearson_per_row
from density_assets.research.density.releases import (
    BY,
    CHOSEN,
    PUBLISHED_EPSILON,
    label,
    lines,
    points,
    printed,
    released,
    short,
    stacked,
)
from density_assets.research.density.week import TABLES, Week, bounds, load_week
from density_assets.research.markdown_tables import figure_cell, markdown
from density_assets.research.study import Row, Study, averaged
from density_assets.schemes.scheme import Floats

BOX_EPSILONS = (0.1, 0.2, 0.3, 0.5, 1.0)
METRICS = ("mre", "pc")


def once(week: Week, point: Row, seed: int) -> list[Row]:
    """MRE and PC of every cell."""
    density = released(week, point, seed)
    return [{"mre": short(mre_per_cell(week.truth, density)), "pc": short(pearson_per_row(week.truth, density))}]


def cells_figures(week: Week, results: pl.DataFrame) -> dict[str, Figure]:
    """Box plots over epsilon (Fig. 10), and maps at epsilon 0.3 (Fig. 11); LPA is on the maps alone."""
    boxes = {metric: _pooled(results.filter(pl.col("scheme") != "lpa"), metric) for metric in METRICS}
    return {"cell_boxes": boxes_over(boxes), "cell_maps": _maps(week, results.filter(epsilon=PUBLISHED_EPSILON))}


def _pooled(results: pl.DataFrame, metric: str) -> dict[str, dict[float, Floats]]:
    """For each scheme and epsilon the metric of all cells of all releases, where it is defined."""
    found: dict[str, dict[float, Floats]] = {}
    named = results.with_columns(line=lines(results)).group_by("line", "epsilon", maintain_order=True)
    for (line, epsilon), part in named:
        values = stacked(part[metric])
        found.setdefault(str(line), {})[float(epsilon)] = values[~np.isnan(values)]
    return found


def chapter_figures(week: Week, results: pl.DataFrame) -> dict[str, Figure]:
    """Maps as in Fig. 5 of the chapter."""
    return {"chapter_maps": _maps(week, results.filter(pl.col("scheme") != "efpag", calibration="published"))}


def _maps(week: Week, results: pl.DataFrame) -> Figure:
    """MRE and PC of each cell, averaged over repetitions."""
    named = results.with_columns(line=lines(results)).group_by("line", maintain_order=True)
    maps = {
        str(line): {metric.upper(): stacked(part[metric]).mean(axis=0) for metric in METRICS} for (line,), part in named
    }
    return metric_maps(week.places.cell_shapes, maps)


def cells_summary(results: pl.DataFrame) -> str:
    """Means and quartiles over cells."""
    quartiles = {metric: _pooled(results, metric) for metric in METRICS}
    rows = []
    for row in _means(results).sort("epsilon", maintain_order=True).iter_rows(named=True):
        line, epsilon = f"{label(row)} ({row['calibration']})", row["epsilon"]
        spread = {metric: _quartiles(quartiles[metric][line][epsilon]) for metric in METRICS}
        cells = [text for metric in METRICS for text in (figure_cell(row, metric), spread[metric])]
        rows.append([line, f"{epsilon:g}", *cells, printed(row, len(METRICS))])
    text = (
        "Means over cells, and quartiles over the cells of all releases. Published: medians hardly change with "
        "epsilon, but small epsilon leaves more cells with a large error."
    )
    head = ("scheme", "epsilon", "MRE", "quartiles", "PC", "quartiles", "published MRE / PC")
    return text + "\n\n" + markdown(head, rows, "l")


def _means(results: pl.DataFrame) -> pl.DataFrame:
    """Means over cells of each repetition, averaged over repetitions."""
    return averaged(results.with_columns(pl.col(metric).list.mean() for metric in METRICS), BY, METRICS)


def _quartiles(values: Floats) -> str:
    return " / ".join(f"{quartile:.3f}" for quartile in np.quantile(values, (0.25, 0.5, 0.75)))


def chapter_summary(results: pl.DataFrame) -> str:
    """Means over the cells, beside what the chapter prints."""
    in_chapter = {("gpa", "published"): "1.01 / 0.47", ("efpag_iris", "published"): "0.17 / 0.96"}
    rows = [
        [
            f"{label(row)} ({row['calibration']})",
            *(figure_cell(row, metric) for metric in METRICS),
            in_chapter.get((row["scheme"], row["calibration"]), ""),
        ]
        for row in _means(results).iter_rows(named=True)
    ]
    text = (
        f"Epsilon {PUBLISHED_EPSILON:g}. Without a cover: Gaussian noise on every cell (`gpa`), and the chapter's "
        "Algorithm 1 (`efpag_iris`: totals of truncated visits, nights smoothed). For comparison EFPAG on the cover, "
        "with improved totals. The pairs the chapter prints are those printed in 2014 for LPA and for EFPAG on the "
        "cover."
    )
    return text + "\n\n" + markdown(("scheme", "MRE", "PC", "published MRE / PC"), rows, "l")


_LPA, _EFPAG, _OURS = ("lpa", True, "published"), ("efpag", True, "published"), ("lowrank", True, "sound")

CELLS_STUDY = Study(
    name="cells",
    title="From cell to cell (Figs. 10 and 11)",
    grid=(
        *points((_LPA,), (PUBLISHED_EPSILON,)),
        *points((_EFPAG, ("efpag", True, "sound"), _OURS), BOX_EPSILONS),
    ),
    load=load_week,
    once=once,
    figures=cells_figures,
    summary=cells_summary,
    about=bounds,
    weekly=True,
    tables=TABLES,
    chooses=CHOSEN,
)
CHAPTER_STUDY = Study(
    name="chapter",
    title="Without a cover: GPA and Algorithm 1 of the chapter",
    grid=points(
        (*product(("gpa", "efpag_iris"), (True,), ("published", "sound")), _EFPAG),
        (PUBLISHED_EPSILON,),
    ),
    load=load_week,
    once=once,
    figures=chapter_figures,
    summary=chapter_summary,
    about=bounds,
    weekly=True,
    tables=TABLES,
    chooses=CHOSEN,
    version=2,
)
