"""The week of each cell: the sum of its counts, with the error of that sum where it can be told."""

import numpy as np
import polars as pl

from density_assets.calendar import WeekClock
from density_assets.geography.cells_and_towers import Cells
from density_assets.publication.counts import interval_columns
from density_assets.publication.files import areas_km2
from density_assets.publication.sums import WeekCounts


def cell_totals(cells: Cells, week: WeekCounts, clock: WeekClock) -> pl.DataFrame:
    """One row per cell, in the order of the counts.

    Where nothing tells the error of a sum, its columns are absent.
    """
    table = pl.DataFrame(
        {
            "cell_id": cells.ids.tolist(),
            "week": [clock.week] * len(cells),
            "area_km2": areas_km2(cells),
            "count": week.visits.sum(axis=1).astype(np.int64),
        }
    )
    if week.sums is None:
        return table
    errors = week.error_of_each_cell(week.happens.astype(np.float64))
    table = table.with_columns(standard_error=pl.Series(np.round(errors, 3)))
    return table.with_columns(**interval_columns(pl.col("count"), pl.col("standard_error")))
