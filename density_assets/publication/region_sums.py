"""Districts and the whole city by hour, day and week: sums of the published counts of cells, with errors of their own.

Every number here can be had from the counts of cells and the list of regions beside them; it is published because most
readers ask for nothing else, and because errors of sums are not sums of errors.
"""

from datetime import datetime

import numpy as np
import polars as pl
from numpy.typing import NDArray

from density_assets.calendar import HOURS, WeekClock
from density_assets.geography.regions import Regions
from density_assets.publication.counts import interval_columns
from density_assets.publication.files import hour_start
from density_assets.publication.people import PeopleFactors, people_of_sums
from density_assets.publication.sums import WeekCounts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WHOLE_CITY = "whole city"
REGION_FILES = (("regions", "parquet"), ("regions", "csv"))
DAY = 24
DAYS = HOURS // DAY
# A row per hour, then per day, then for the week: what each is, the hour it begins with and the last hour of it.
KINDS = ("hour",) * HOURS + ("day",) * DAYS + ("week",)
FIRST_HOURS = (*range(HOURS), *range(0, HOURS, DAY), 0)
LAST_HOURS = (*range(HOURS), *range(DAY - 1, HOURS, DAY), HOURS - 1)


def periods(happens: NDArray[np.bool_]) -> Floats:
    """Which hours are in which period (168 x 176): hours, days and the week.

    An hour that does not happen has a row of its own, because the files of cells have one, but is in no day and not in
    the week.
    """
    longer = np.column_stack([np.repeat(np.eye(DAYS), DAY, axis=0), np.ones(HOURS)])
    return np.hstack([np.eye(HOURS), longer * happens[:, None]])


def region_sums(
    regions: Regions,
    week: WeekCounts,
    clock: WeekClock,
    factors: PeopleFactors | None = None,
    people: Ints | None = None,
) -> pl.DataFrame:
    """One row per region and period, the whole city first, under no identifier.

    people: of each cell and hour, where factors are stated. Errors are empty where nothing tells how those of cells go
    together, and so are intervals.
    """
    areas, over = np.vstack([np.ones(len(regions.of_cell)), regions.areas]), periods(week.happens)
    count, error = np.rint(areas @ week.visits @ over).astype(np.int64), week.error_of(areas, over)
    table = _named(regions, clock).with_columns(
        pl.Series("count", count.reshape(-1)),
        pl.Series("standard_error", np.round(error, 3).reshape(-1), nan_to_null=True),
    )
    table = table.with_columns(**interval_columns(pl.col("count"), pl.col("standard_error")))
    if factors is None or people is None:
        return table
    return table.with_columns(**people_of_sums(factors, week, people, areas, over).columns)


def _named(regions: Regions, clock: WeekClock) -> pl.DataFrame:
    """Region and period of each row."""
    ids, names = (None, *regions.ids), (WHOLE_CITY, *regions.names)
    starts = [_start(clock, first, last) for first, last in zip(FIRST_HOURS, LAST_HOURS, strict=True)]
    return pl.DataFrame(
        {
            "region_id": [region for region in ids for _ in KINDS],
            "region_name": [name for name in names for _ in KINDS],
            "week": [clock.week] * len(ids) * len(KINDS),
            "period": KINDS * len(ids),
            "hour": FIRST_HOURS * len(ids),
            "timestamp": [start.isoformat() if start else None for start in starts] * len(ids),
        },
        schema_overrides={"region_id": pl.String, "timestamp": pl.String},
    )


def _start(clock: WeekClock, first: int, last: int) -> datetime | None:
    """When a period starts: its first hour that happens."""
    return next((start for hour in range(first, last + 1) if (start := hour_start(clock, hour))), None)
