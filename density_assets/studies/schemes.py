"""Every scheme against the truth of a synthetic city: MRE, PC and EMD, for both calibrations."""

import polars as pl
from matplotlib.figure import Figure

from density_assets.plots.curves import curves
from density_assets.schemes import SCHEMES
from density_assets.studies.density import EMD_HOURS, PUBLISHED, label, released, score
from density_assets.studies.inputs import TABLES, Week, load_week
from density_assets.studies.study import Row, Study, averaged
from density_assets.studies.tables import figure_cell, markdown

EPSILONS = (0.1, 0.3, 1.0)
IMPROVABLE = ("efpa", "efpag")
METRICS = ("mre", "pc", "emd")


def _grid() -> tuple[Row, ...]:
    """Every scheme, sound at all epsilons and published at 0.3."""
    points: list[Row] = []
    for name in SCHEMES:
        for improved in (True, False) if name in IMPROVABLE else (True,):
            shared = {"scheme": name, "improved": improved}
            points += [shared | {"calibration": "sound", "epsilon": epsilon} for epsilon in EPSILONS]
            if name != "lowrank":
                points.append(shared | {"calibration": "published", "epsilon": 0.3})
    return tuple(points)


def once(week: Week, point: Row, seed: int) -> list[Row]:
    """One draw with seeded noise, and how far it is from the truth."""
    return [score(week, released(week, point, seed), EMD_HOURS)]


def figures(week: Week, results: pl.DataFrame) -> dict[str, Figure]:
    """Each metric over epsilon, one line per scheme."""
    sound = averaged(results.filter(calibration="sound"), ["scheme", "improved", "epsilon"], METRICS)
    lines = sound.with_columns(line=pl.struct("scheme", "improved").map_elements(label, pl.String))
    return {"schemes": curves(lines, "epsilon", METRICS, "line")}


def summary(results: pl.DataFrame) -> str:
    """Mean and standard deviation over repetitions, beside the published numbers."""
    means = averaged(results, ["scheme", "improved", "calibration", "epsilon"], METRICS)
    rows = []
    for row in means.sort("epsilon", "calibration", "mre").iter_rows(named=True):
        printed = PUBLISHED.get(row["scheme"]) if row["epsilon"] == 0.3 and row["improved"] else None
        beside = " / ".join("–" if value is None else f"{value:g}" for value in printed) if printed else ""
        cells = [figure_cell(row, metric) for metric in METRICS]
        rows.append([label(row), row["calibration"], f"{row['epsilon']:g}", *cells, beside])
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
    weekly=True,
    tables=TABLES,
)
