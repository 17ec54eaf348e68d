"""The week of each cell: the sum of its counts, with the error of that sum where it can be told."""

import numpy as np
import polars as pl

from density_assets.calendar import HOURS, WeekClock
from density_assets.geography.cells_and_towers import Cells
from density_assets.publication.counts import interval_columns
from density_assets.publication.files import areas_km2
from density_assets.publication.sum_errors import summary_from


def cell_totals(cells: Cells, density: pl.DataFrame, sums: pl.DataFrame | None, clock: WeekClock) -> pl.DataFrame:
    """One row per cell, in the order of the counts.

    sums: errors of sums; without them the error of a sum cannot be told, and its columns are absent.
    """
    counts = density["count"].to_numpy().reshape(-1, HOURS)
    table = pl.DataFrame({"cell_id": cells.ids.tolist(), "area_km2": areas_km2(cells), "count": counts.sum(axis=1)})
    table = table.select("cell_id", pl.lit(clock.week).alias("week"), "area_km2", "count")
    if sums is None:
        return table
    errors = density["standard_error"].to_numpy().reshape(-1, HOURS)
    happens = (~np.isin(np.arange(HOURS), clock.missing)).astype(np.float64)
    variance = summary_from(sums, table["cell_id"]).of_each_cell(counts.astype(np.float64), errors, happens)
    table = table.with_columns(standard_error=pl.Series(np.round(np.sqrt(variance), 3)))
    return table.with_columns(**interval_columns(pl.col("count"), pl.col("standard_error")))
