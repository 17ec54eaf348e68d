"""The evaluation zone: how far the release is from the truth. It reads the truth, so it is confidential.

Nothing flows from here to a release. Choosing a scheme, a cap or a split by these numbers on real people is a use of
their data that nobody pays for: it voids the promise. Choose on synthetic cities.
"""

import numpy as np
import polars as pl

from density_assets import series
from density_assets.geography.tables import cells_from
from density_assets.graph.assets import asset
from density_assets.graph.columns import column
from density_assets.graph.step import Made, RecordStep
from density_assets.privacy.zones import Zone
from density_assets.publication.pictures.maps import metric_map
from density_assets.publication.pictures.picture import png
from density_assets.research.metrics.correlation import pearson_per_row
from density_assets.research.metrics.earth_movers import emd_per_hour
from density_assets.research.metrics.pairs import by_hour_of_day, mean_where_defined
from density_assets.research.metrics.relative_error import mre_per_cell, mre_per_hour
from density_assets.research.plots.errors import box_plots, errors_by_hour_of_day, errors_over_week


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

    Confidential, because it is computed from the truth; shown here for synthetic cities only. To choose settings by
    these numbers on real people voids the promise.
    """
    ids = cells["cell_id"]
    truth = series.matrix(iris_series, ids, "original")
    released = series.matrix(density, ids, "count").astype(np.float64)
    city = cells_from(cells)
    mre, pc = mre_per_cell(truth, released), pearson_per_row(truth, released)
    errors, emd = mre_per_hour(truth, released), emd_per_hour(truth, released, city.centroids)
    daily = {"mre": by_hour_of_day(errors), "emd": by_hour_of_day(emd)}
    pictures = {
        "over_the_week": png(errors_over_week({"release": errors}, {"release": emd})),
        "over_the_day": png(errors_by_hour_of_day(daily["mre"], daily["emd"])),
        "boxes": box_plots(MRE=mre, PC=pc, EMD=emd),
        "map_of_mre": metric_map(city.polygons, mre, "MRE", "relative error of each cell"),
        "map_of_pc": metric_map(city.polygons, pc, "PC", "correlation of each cell"),
    }
    facts = {name: _fact(mean_where_defined(values)) for name, values in {"mre": mre, "pc": pc, "emd": emd}.items()}
    by_hour = {"per_hour": {"mre": errors, "emd": emd}, "by_hour_of_day": daily}
    lists = {f"{name}_{by}": [_fact(value) for value in of[name]] for by, of in by_hour.items() for name in of}
    return Made(pl.DataFrame({"cell_id": ids, "mre": mre, "pc": pc}), pictures, facts | lists)


def _fact(value: float) -> float | None:
    """A number as it is shown; none if it is undefined."""
    return None if np.isnan(value) else round(float(value), 4)
