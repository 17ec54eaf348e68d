"""The evaluation zone: how far the release is from the truth. It reads the truth, so it is confidential.

Nothing flows from here to a release, and no release waits for it. Of real people it is made only when a person asks
(`density evaluate`, or the asset by hand), and an error tells the UI nothing but that there was one, because what fails
may depend on the truth. Choosing a scheme, a cap or a split by these numbers on real people is a use of their data that
nobody pays for: it voids the promise. Choose on synthetic cities.
"""

import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import polars as pl

from density_assets import series
from density_assets.calendar import HOURS
from density_assets.errors import BadInput
from density_assets.geography.cells_and_towers import Cells
from density_assets.geography.tables import cells_from
from density_assets.graph.assets import asset
from density_assets.graph.columns import column
from density_assets.graph.step import Made, RecordStep
from density_assets.privacy.zones import Zone
from density_assets.publication.pictures import box_plots, errors_by_hour_of_day, errors_over_week, metric_map, png
from density_assets.quality.accuracy import (
    by_hour_of_day,
    emd_per_hour,
    mean_where_defined,
    mre_per_cell,
    mre_per_hour,
    pearson_per_row,
)
from density_assets.series import Floats
from resources.tables.files import private_files, write_durably

MANY_CELLS = 2_000  # above, moving the mass of all 168 hours takes longer than the whole release
SAMPLED, SAMPLING_SEED = 8, 2007  # hours of a city of many cells; of 5,000 cells each costs a second or two


@asset(
    Zone.EVALUATION,
    {
        "cell_id": column("identifier of the cell", "density.cell_id"),
        "mre": column("mean relative error over the week", "density.count", "iris_series.original"),
        "pc": column("Pearson correlation over the week", "density.count", "iris_series.original"),
    },
)
def evaluation_metrics(step: RecordStep, iris_series: pl.DataFrame, density: pl.DataFrame, cells: pl.DataFrame) -> Made:
    """How far the released counts are from the original ones: MRE and PC per cell, error and EMD by hour.

    Confidential, because it is computed from the truth; shown here for synthetic cities only. Of real people it is made
    only when a person asks for it, and to choose settings by these numbers voids the promise. In a city of more than
    2,000 cells EMD is that of eight hours, one from each eighth of the week, drawn with a fixed seed: `emd_hours` says
    how many, `emd_standard_error` how far their mean may be from that of all hours.
    """
    with _failing_in_private(step):
        ids = cells["cell_id"]
        truth = series.matrix(iris_series, ids, "original")
        released = series.matrix(density, ids, "count").astype(np.float64)
        return _compared(ids, cells_from(cells), truth, released, step.settings.engine.threads)


@contextmanager
def _failing_in_private(step: RecordStep) -> Iterator[None]:
    """Of real people, keep what went wrong in the confidential folder, and warnings to nobody."""
    if step.city.synthetic:
        yield
        return
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # a panic of a library is no Exception, and quotes values all the same
        store = step.city.store
        file = store.confidential / "about" / step.name / f"{step.week}_failure.txt"
        with private_files():
            file.parent.mkdir(parents=True, exist_ok=True)
            write_durably(file, traceback.format_exc().encode())
        raise BadInput(
            f"{step.name} of the week of {step.week} must be computed from the truth, and failed: what went wrong is "
            f"confidential: {file.relative_to(store.folder)}. No release depends on it"
        ) from None


def _compared(ids: pl.Series, city: Cells, truth: Floats, released: Floats, threads: int) -> Made:
    mre, pc = mre_per_cell(truth, released), pearson_per_row(truth, released)
    errors, emd = mre_per_hour(truth, released), distances(truth, released, city.centroids, threads)
    daily = {"mre": by_hour_of_day(errors), "emd": by_hour_of_day(emd)}
    pictures = {
        "over_the_week": png(errors_over_week({"release": errors}, {"release": emd})),
        "over_the_day": png(errors_by_hour_of_day(daily["mre"], daily["emd"])),
        "boxes": box_plots(MRE=mre, PC=pc, EMD=emd),
        "map_of_mre": metric_map(city.polygons, mre, "MRE", "relative error of each cell"),
        "map_of_pc": metric_map(city.polygons, pc, "PC", "correlation of each cell"),
    }
    facts = {name: _fact(mean_where_defined(values)) for name, values in {"mre": mre, "pc": pc, "emd": emd}.items()}
    facts |= {"emd_hours": int(np.isfinite(emd).sum()), "emd_standard_error": _fact(error_of_mean(emd))}
    by_hour = {"per_hour": {"mre": errors, "emd": emd}, "by_hour_of_day": daily}
    lists = {f"{name}_{by}": [_fact(value) for value in of[name]] for by, of in by_hour.items() for name in of}
    return Made(pl.DataFrame({"cell_id": ids, "mre": mre, "pc": pc}), pictures, facts | lists)


def distances(truth: Floats, released: Floats, centroids: Floats, threads: int = 1) -> Floats:
    """EMD of each hour; in a city of many cells of a few that are drawn, nan else."""
    hours = sampled_hours() if len(centroids) > MANY_CELLS else list(range(HOURS))
    emd = np.full(HOURS, np.nan)
    emd[hours] = emd_per_hour(truth, released, centroids, hours, threads)
    return emd


def sampled_hours() -> list[int]:
    """One hour from each part of the week, so that days and nights are met; the same in every week."""
    width = HOURS // SAMPLED
    within = np.random.default_rng(SAMPLING_SEED).integers(width, size=SAMPLED)
    return [int(hour) for hour in width * np.arange(SAMPLED) + within]


def error_of_mean(values: Floats) -> float:
    """Standard error of the mean of the hours that are known, as that of all 168; zero where all are known."""
    known = values[np.isfinite(values)]
    if len(known) == len(values):
        return 0.0
    if len(known) < 2:  # one value has no spread
        return float("nan")
    return float(known.std(ddof=1) * np.sqrt((1 - len(known) / len(values)) / len(known)))


def _fact(value: float) -> float | None:
    """A number as it is shown; none if it is undefined."""
    return None if np.isnan(value) else round(float(value), 4)
