"""The evaluation zone: how far the release is from the truth. It reads the truth, so it is confidential.

Nothing flows from here to a release. Choosing a scheme, a cap or a split by these numbers on real people is a use of
their data that nobody pays for: it voids the promise. Choose on synthetic cities.
"""

import dagster as dg
import numpy as np
import polars as pl

from density_assets import series
from density_assets.assets.zones import Made, Zone, asset, column
from density_assets.cities.tables import cells_from
from density_assets.metrics.correlation import pearson_per_row
from density_assets.metrics.earth_movers import emd_per_hour
from density_assets.metrics.relative_error import mre_per_cell, mre_per_hour
from density_assets.plots.errors import box_plots, errors_over_week
from density_assets.plots.maps import value_map
from density_assets.plots.picture import png


@asset(
    Zone.EVALUATION,
    {
        "cell_id": column("identifier of the cell", "density.cell_id"),
        "mre": column("mean relative error over the week", "density.count", "iris_series.original"),
        "pc": column("Pearson correlation over the week", "density.count", "iris_series.original"),
    },
)
def evaluation_metrics(
    context: dg.AssetExecutionContext, iris_series: pl.DataFrame, density: pl.DataFrame, cells: pl.DataFrame
) -> Made:
    """How far the released counts are from the original ones: MRE and PC per cell, error and EMD per hour.

    Confidential, because it is computed from the truth; shown here for synthetic cities only. To choose settings by
    these numbers on real people voids the promise.
    """
    ids = cells["cell_id"]
    truth = series.matrix(iris_series, ids, "original")
    released = series.matrix(density, ids, "count").astype(np.float64)
    city = cells_from(cells)
    mre, pc = mre_per_cell(truth, released), pearson_per_row(truth, released)
    by_hour = mre_per_hour(truth, released)
    emd = emd_per_hour(truth, released, city.centroids)
    pictures = {
        "over_the_week": png(errors_over_week({"release": by_hour}, {"release": emd})),
        "boxes": box_plots(MRE=mre, PC=pc, EMD=emd),
        "map_of_mre": value_map(city.polygons, np.nan_to_num(mre), "relative error of each cell", "MRE"),
        "map_of_pc": value_map(city.polygons, np.clip(pc, 0, 1), "correlation of each cell", "PC"),
    }
    facts = {
        "mre": _mean(mre),
        "pc": _mean(pc),
        "emd": _mean(emd),
    }
    return Made(pl.DataFrame({"cell_id": ids, "mre": mre, "pc": pc}), pictures, facts)


def _mean(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    """Mean of what is defined; zero if nothing is."""
    defined = values[np.isfinite(values)]
    return round(float(defined.mean()), 4) if len(defined) else 0.0
