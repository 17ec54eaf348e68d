"""The series of one cell as each scheme would release it (Acs & Castelluccia 2014, Figs. 3–5)."""

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from density_assets.publication.pictures import series_panels
from density_assets.quality.accuracy import mre, pearson
from density_assets.research.density.releases import BY, CHOSEN, PUBLISHED_EPSILON, label, points, released, stacked
from density_assets.research.density.week import TABLES, Week, bounds, load_week
from density_assets.research.markdown_tables import figure_cell, markdown
from density_assets.research.study import Row, Study, averaged

SCHEMES = (
    ("lpa", True, "published"),
    ("efpag", False, "published"),
    ("efpag", True, "published"),
    ("lowrank", True, "sound"),
)
METRICS = ("mre", "pc")
FIGURE = {"lpa": "Fig. 3", "efpag −": "Fig. 4", "efpag": "Fig. 5", "lowrank": "ours"}
PRINTED = {"lpa": "0.73 / 0.59", "efpag −": "0.38 / 0.98", "efpag": "0.16 / 0.99"}  # MRE / PC in the figures


def shown_cell(week: Week) -> int:
    """The cell whose visits are the median: by the truth, which a study of synthetic people may look at."""
    return int(np.argsort(week.truth.sum(axis=1))[len(week.truth) // 2])


def once(week: Week, point: Row, seed: int) -> list[Row]:
    """The released week of the shown cell, hour by hour, and how far it is from the truth."""
    cell = shown_cell(week)
    true, values = week.truth[[cell]], released(week, point, seed)[[cell]]
    return [{"series": np.round(values[0], 2).tolist(), "mre": mre(true, values), "pc": pearson(true, values)}]


def figures(week: Week, results: pl.DataFrame) -> dict[str, Figure]:
    """One panel per scheme: the original, what truncation leaves of it, one release, and where 90 % of them lie."""
    cell = shown_cell(week)
    truncated = (week.places.to_cells("towers") @ week.truncated)[cell]
    named = results.with_columns(line=_names(results)).group_by("line", maintain_order=True)
    panels = {f"{name} ({FIGURE[str(name)]})": stacked(part["series"]) for (name,), part in named}
    return {"cell_series": series_panels(panels, original=week.truth[cell], truncated=truncated)}


def about(week: Week) -> str:
    """The bounds, and how much truncation leaves."""
    kept, hours = week.truncated.sum(), week.truth.shape[1]
    cells, cover = len(week.truth), week.places.count("cover")
    return (
        f"{bounds(week)} Truncation keeps {100 * kept / week.truth.sum():.0f} % of the visits: a mean count per hour "
        f"of {kept / cells / hours:.0f} on {cells} cells (published: 91) and of {kept / cover / hours:.0f} on a cover "
        f"of {cover} (published: 120 on 826)."
    )


def summary(results: pl.DataFrame) -> str:
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


def _names(results: pl.DataFrame) -> pl.Series:
    return pl.Series([label(row) for row in results.select("scheme", "improved").iter_rows(named=True)])


CELL_SERIES = Study(
    name="cell_series",
    title="One cell, hour by hour (Figs. 3–5)",
    grid=points(SCHEMES, (PUBLISHED_EPSILON,)),
    load=load_week,
    once=once,
    figures=figures,
    summary=summary,
    about=about,
    weekly=True,
    tables=TABLES,
    chooses=CHOSEN,
    version=2,
)
