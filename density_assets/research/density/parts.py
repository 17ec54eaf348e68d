"""Where and when a release is wrong: one cell, from cell to cell, hour by hour (Figs. 3–5 and 9–11).

Figures are those of Acs & Castelluccia 2014; the maps of a chapter are Fig. 5 of Acs et al. 2018.
"""

from itertools import product

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from density_assets.calendar import HOURS
from density_assets.publication.pictures import DAYS, boxes_over, errors_over_week, metric_maps, series_panels
from density_assets.quality.accuracy import emd_per_hour, mre, mre_per_cell, mre_per_hour, pearson, pearson_per_row
from density_assets.research.density.releases import (
    BY,
    PUBLISHED,
    PUBLISHED_EPSILON,
    label,
    lines,
    points,
    published_numbers,
    released,
    rounded,
    stack_repetitions,
)
from density_assets.research.density.week import OF_A_WEEK, KnownWeek, bounds
from density_assets.research.results import figure_cell, markdown
from density_assets.research.study import Row, Study, averaged
from density_assets.series import Floats

# --- one cell --------------------------------------------------------------------------------------------------------


CELL_SCHEMES = (
    ("lpa", True, "published"),
    ("efpag", False, "published"),
    ("efpag", True, "published"),
    ("lowrank", True, "sound"),
)
METRICS = ("mre", "pc")
FIGURE = {"lpa": "Fig. 3", "efpag −": "Fig. 4", "efpag": "Fig. 5", "lowrank": "ours"}
PRINTED = {"lpa": "0.73 / 0.59", "efpag −": "0.38 / 0.98", "efpag": "0.16 / 0.99"}  # MRE / PC in the plot_one_cell


def shown_cell(week: KnownWeek) -> int:
    """The cell whose visits are the median: by the truth, which a study of synthetic people may look at."""
    return int(np.argsort(week.truth.sum(axis=1))[len(week.truth) // 2])


def release_one_cell(week: KnownWeek, point: Row, seed: int) -> list[Row]:
    """The released week of the shown cell, hour by hour, and how far it is from the truth."""
    cell = shown_cell(week)
    true, values = week.truth[[cell]], released(week, point, seed)[[cell]]
    return [{"series": np.round(values[0], 2).tolist(), "mre": mre(true, values), "pc": pearson(true, values)}]


def plot_one_cell(week: KnownWeek, results: pl.DataFrame) -> dict[str, Figure]:
    """One panel per scheme: the original, what truncation leaves of it, one release, and where 90 % of them lie."""
    cell = shown_cell(week)
    truncated = (week.places.to_cells("towers") @ week.truncated)[cell]
    named = results.with_columns(line=_labels(results)).group_by("line", maintain_order=True)
    panels = {f"{name} ({FIGURE[str(name)]})": stack_repetitions(part["series"]) for (name,), part in named}
    return {"cell_series": series_panels(panels, original=week.truth[cell], truncated=truncated)}


def describe_truncation(week: KnownWeek) -> str:
    """The bounds, and how much truncation leaves."""
    kept, hours = week.truncated.sum(), week.truth.shape[1]
    cells, cover = len(week.truth), week.places.count("cover")
    return (
        f"{bounds(week)} Truncation keeps {100 * kept / week.truth.sum():.0f} % of the visits: a mean count per hour "
        f"of {kept / cells / hours:.0f} on {cells} cells (published: 91) and of {kept / cover / hours:.0f} on a cover "
        f"of {cover} (published: 120 on 826)."
    )


def tabulate_one_cell(results: pl.DataFrame) -> str:
    """The error of that one cell."""
    rows = [
        [FIGURE[label(row)], label(row), *(figure_cell(row, metric) for metric in METRICS), PRINTED.get(label(row), "")]
        for row in averaged(results, BY, METRICS).iter_rows(named=True)
    ]
    text = (
        f"The cell with the median number of visits, epsilon {PUBLISHED_EPSILON:g}. Grey: the original; dotted: after "
        "truncation; blue: one release, and the band in which nine of ten releases lie. The paper shows a cell of its "
        "own city, without saying which."
    )
    head = ("figure", "scheme", "MRE of the cell", "PC of the cell", "published MRE / PC")
    return text + "\n\n" + markdown(head, rows, "ll")


def _labels(results: pl.DataFrame) -> pl.Series:
    return pl.Series([label(row) for row in results.select("scheme", "improved").iter_rows(named=True)])


CELL_SERIES = Study(
    name="cell_series",
    title="One cell, hour by hour (Figs. 3–5)",
    grid=points(CELL_SCHEMES, (PUBLISHED_EPSILON,)),
    once=release_one_cell,
    figures=plot_one_cell,
    summary=tabulate_one_cell,
    version=2,
    **(OF_A_WEEK | {"about": describe_truncation}),
)


# --- from cell to cell -----------------------------------------------------------------------------------------------


BOX_EPSILONS = (0.1, 0.2, 0.3, 0.5, 1.0)


def score_cells(week: KnownWeek, point: Row, seed: int) -> list[Row]:
    """MRE and PC of every cell."""
    density = released(week, point, seed)
    return [{"mre": rounded(mre_per_cell(week.truth, density)), "pc": rounded(pearson_per_row(week.truth, density))}]


def plot_cells(week: KnownWeek, results: pl.DataFrame) -> dict[str, Figure]:
    """Box plots over epsilon (Fig. 10), and maps at epsilon 0.3 (Fig. 11); LPA is on the maps alone."""
    boxes = {metric: _pooled(results.filter(pl.col("scheme") != "lpa"), metric) for metric in METRICS}
    return {"cell_boxes": boxes_over(boxes), "cell_maps": _maps(week, results.filter(epsilon=PUBLISHED_EPSILON))}


def _pooled(results: pl.DataFrame, metric: str) -> dict[str, dict[float, Floats]]:
    """For each scheme and epsilon the metric of all cells of all releases, where it is defined."""
    found: dict[str, dict[float, Floats]] = {}
    named = results.with_columns(line=lines(results)).group_by("line", "epsilon", maintain_order=True)
    for (line, epsilon), part in named:
        values = stack_repetitions(part[metric])
        found.setdefault(str(line), {})[float(epsilon)] = values[~np.isnan(values)]
    return found


def plot_chapter(week: KnownWeek, results: pl.DataFrame) -> dict[str, Figure]:
    """Maps as in Fig. 5 of the chapter."""
    return {"chapter_maps": _maps(week, results.filter(pl.col("scheme") != "efpag", calibration="published"))}


def _maps(week: KnownWeek, results: pl.DataFrame) -> Figure:
    """MRE and PC of each cell, averaged over repetitions."""
    named = results.with_columns(line=lines(results)).group_by("line", maintain_order=True)
    maps = {
        str(line): {metric.upper(): stack_repetitions(part[metric]).mean(axis=0) for metric in METRICS}
        for (line,), part in named
    }
    return metric_maps(week.places.cell_shapes, maps)


def tabulate_cells(results: pl.DataFrame) -> str:
    """Means and quartiles over cells."""
    quartiles = {metric: _pooled(results, metric) for metric in METRICS}
    rows = []
    for row in _means(results).sort("epsilon", maintain_order=True).iter_rows(named=True):
        line, epsilon = f"{label(row)} ({row['calibration']})", row["epsilon"]
        spread = {metric: _quartiles(quartiles[metric][line][epsilon]) for metric in METRICS}
        cells = [text for metric in METRICS for text in (figure_cell(row, metric), spread[metric])]
        rows.append([line, f"{epsilon:g}", *cells, published_numbers(row, len(METRICS))])
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


def tabulate_chapter(results: pl.DataFrame) -> str:
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
    once=score_cells,
    figures=plot_cells,
    summary=tabulate_cells,
    **OF_A_WEEK,
)
CHAPTER_STUDY = Study(
    name="chapter",
    title="Without a cover: GPA and Algorithm 1 of the chapter",
    grid=points(
        (*product(("gpa", "efpag_iris"), (True,), ("published", "sound")), _EFPAG),
        (PUBLISHED_EPSILON,),
    ),
    once=score_cells,
    figures=plot_chapter,
    summary=tabulate_chapter,
    version=2,
    **OF_A_WEEK,
)


# --- hour by hour ----------------------------------------------------------------------------------------------------


DAYLIGHT = np.isin(np.arange(HOURS) % 24, range(8, 22))
HOUR_SCHEMES = (
    ("lpa", True, "published"),
    ("efpa", True, "published"),
    ("efpag", False, "published"),
    ("efpag", True, "published"),
    ("lowrank", True, "sound"),
)


def score_hours(week: KnownWeek, point: Row, seed: int) -> list[Row]:
    """Relative error and EMD of every hour."""
    density = released(week, point, seed)
    metres = emd_per_hour(week.truth, density, week.centroids)
    return [{"mre": rounded(mre_per_hour(week.truth, density)), "emd": rounded(metres)}]


def plot_hours(week: KnownWeek, results: pl.DataFrame) -> dict[str, Figure]:
    """Both metrics over the week."""
    return {"hours": errors_over_week(_by_hour(results, "mre"), _by_hour(results, "emd"))}


def _by_hour(results: pl.DataFrame, metric: str) -> dict[str, Floats]:
    """For each scheme the metric of each hour, averaged over repetitions."""
    named = results.with_columns(line=lines(results)).group_by("line", maintain_order=True)
    return {str(name): stack_repetitions(part[metric]).mean(axis=0) for (name,), part in named}


def tabulate_hours(results: pl.DataFrame) -> str:
    """Means over the week, by day and by night, and what the improvements bring by day at best."""
    errors, metres = stack_repetitions(results["mre"]), stack_repetitions(results["emd"])
    means = results.select(*BY, "seed").with_columns(
        day=np.nanmean(errors[:, DAYLIGHT], axis=1),
        night=np.nanmean(errors[:, ~DAYLIGHT], axis=1),
        emd=np.nanmean(metres, axis=1),
    )
    rows = [
        [
            f"{label(row)} ({row['calibration']})",
            *(figure_cell(row, metric, digits) for metric, digits in (("day", 3), ("night", 3), ("emd", 0))),
            f"{PUBLISHED[row['scheme']][2]:g}" if row["scheme"] in PUBLISHED and row["improved"] else "",
        ]
        for row in averaged(means, BY, ("day", "night", "emd")).iter_rows(named=True)
    ]
    text = (
        f"Epsilon {PUBLISHED_EPSILON:g}; day is from 8 to 22 h. Published: the improvements of §5.4 lower the error by "
        f"day, by a factor of almost 4 at best. Measured: {_best_factor(_by_hour(results, 'mre'))}."
    )
    head = ("scheme", "error by day", "error by night", "EMD (m)", "published EMD (m)")
    return text + "\n\n" + markdown(head, rows, "l")


def _best_factor(errors: dict[str, Floats]) -> str:
    """The largest ratio of the errors without and with the improvements in an hour by day."""
    ratio = np.where(DAYLIGHT, errors["efpag − (published)"] / errors["efpag (published)"], 0.0)
    best = int(np.nanargmax(ratio))
    return f"by a factor of {ratio[best]:.1f} at best, {DAYS[best // 24]} {best % 24} h"


HOURS_STUDY = Study(
    name="hours",
    title="Error and EMD over the week (Fig. 9)",
    grid=points(HOUR_SCHEMES, (PUBLISHED_EPSILON,)),
    once=score_hours,
    figures=plot_hours,
    summary=tabulate_hours,
    **OF_A_WEEK,
)
