"""Sums of published counts: of each cell over the week, of regions by hour, day and week, of parts of a city by day.

Every number here can be had from the counts of cells and the table of errors of sums beside them; it is published
because most readers ask for nothing else, and because errors of sums are not sums of errors. Files get whole numbers
with 95 % intervals, rounded outwards; the page gets the sums that readers ask for first.
"""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from density_assets.calendar import HOURS, WeekClock
from density_assets.geography.cells_and_towers import Cells
from density_assets.geography.regions import Regions
from density_assets.publication.files import areas_km2, hour_start
from density_assets.publication.people import PeopleFactors, PerVisit, people_in_cells, people_of_sums
from density_assets.publication.sum_errors import WITHIN, WeekCounts
from density_assets.series import Flags, Floats, Ints

WHOLE_CITY = "whole city"
REGION_FILES = (("regions", "parquet"), ("regions", "csv"))
DAY = 24
WEEKDAYS = HOURS // DAY
# A row per hour, then per day, then for the week: what each is, the hour it begins with and the last hour of it.
KINDS = ("hour",) * HOURS + ("day",) * WEEKDAYS + ("week",)
FIRST_HOURS = (*range(HOURS), *range(0, HOURS, DAY), 0)
LAST_HOURS = (*range(HOURS), *range(DAY - 1, HOURS, DAY), HOURS - 1)
PARTS = (  # of a city that names no regions
    ("south-west", "south", "south-east"),
    ("west", "centre", "east"),
    ("north-west", "north", "north-east"),
)
LEAST_CELLS = 18  # two for each part: smaller cities are shown as a whole
RATE_DIGITS = 6  # of people per visit, on the page


def counts_with_intervals(density: pl.DataFrame, clock: WeekClock) -> pl.DataFrame:
    """The counts with their week and 95 % intervals; times as text."""
    return _with_intervals(density.with_columns(week=pl.lit(clock.week)))


def _with_intervals(table: pl.DataFrame) -> pl.DataFrame:
    """The ends of 95 % intervals as whole numbers, rounded outwards: no count of visits is negative."""
    margin = WITHIN * pl.col("standard_error")
    low, high = (pl.col("count") - margin).floor().clip(lower_bound=0), (pl.col("count") + margin).ceil()
    return table.with_columns(count_low=low.cast(pl.Int64), count_high=high.cast(pl.Int64))


def interval(count: int, error: float) -> tuple[int, int]:
    """The 95 % interval of one sum, as those of tables."""
    return max(0, math.floor(count - WITHIN * error)), math.ceil(count + WITHIN * error)


def with_moments(counts: pl.DataFrame, timezone: str) -> pl.DataFrame:
    """The counts with times as moments, which show as the city's clocks do."""
    moments = pl.col("timestamp").str.to_datetime("%Y-%m-%dT%H:%M:%S%:z", time_unit="us", time_zone="UTC")
    return counts.with_columns(moments.dt.convert_time_zone(timezone))


def cell_totals(cells: Cells, week: WeekCounts, clock: WeekClock) -> pl.DataFrame:
    """The week of each cell, one row per cell in the order of the counts.

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
    return _with_intervals(table.with_columns(standard_error=pl.Series(np.round(errors, 3))))


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
    # An hour that does not happen has a row of its own, because the files of cells have one.
    periods = np.hstack([np.eye(HOURS), _days_and_week(week.happens)])
    areas = np.vstack([np.ones(len(regions.of_cell)), regions.areas])
    count, error = np.rint(areas @ week.visits @ periods).astype(np.int64), week.error_of(areas, periods)
    table = _regions_and_periods(regions, clock).with_columns(
        pl.Series("count", count.reshape(-1)),
        pl.Series("standard_error", np.round(error, 3).reshape(-1), nan_to_null=True),
    )
    if factors is None or people is None:
        return _with_intervals(table)
    return _with_intervals(table).with_columns(**people_of_sums(factors, week, people, areas, periods).columns)


def _days_and_week(happens: Flags) -> Floats:
    """The hours of each day and of the week (168 x 8); one that does not happen is in neither."""
    periods = np.column_stack([np.repeat(np.eye(WEEKDAYS), DAY, axis=0), np.ones(HOURS)])
    return np.asarray(periods * happens[:, None])


def _regions_and_periods(regions: Regions, clock: WeekClock) -> pl.DataFrame:
    """Region and period of each row; a period starts with its first hour that happens."""
    ids, names = (None, *regions.ids), (WHOLE_CITY, *regions.names)
    starts = [
        next((start for hour in range(first, last + 1) if (start := hour_start(clock, hour))), None)
        for first, last in zip(FIRST_HOURS, LAST_HOURS, strict=True)
    ]
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


@dataclass(frozen=True)
class Interval:
    """A sum of counts and how far 95 % intervals reach on either side, to two digits."""

    visits: int
    margin: int


@dataclass(frozen=True)
class Area:
    """A part of the city: seven days and the week."""

    name: str
    cells: int
    sums: tuple[Interval, ...]


def areas_by_day(week: WeekCounts, parts: Mapping[str, Flags]) -> list[Area]:
    """Visits of each part by day and in the week; nothing where nothing tells the errors of sums.

    parts: the cells of each, by name.
    """
    if week.sums is None:
        return []
    areas, periods = np.stack(list(parts.values())).astype(np.float64), _days_and_week(week.happens)
    visits, margins = areas @ week.visits @ periods, WITHIN * week.error_of(areas, periods)
    rows = (
        tuple(Interval(round(sum_), round(float(f"{margin:.2g}"))) for sum_, margin in zip(*row, strict=True))
        for row in zip(visits.tolist(), margins.tolist(), strict=True)
    )
    return [Area(name, int(part.sum()), row) for (name, part), row in zip(parts.items(), rows, strict=True)]


def city_and_parts(centroids: Floats, regions: Regions | None = None) -> dict[str, Flags]:
    """All cells, then those of each region; where a city names none, of each part that a compass says."""
    parts = compass(centroids) if regions is None else _cells_by_region(regions)
    return {WHOLE_CITY: np.ones(len(centroids), bool), **parts}


def _cells_by_region(regions: Regions) -> dict[str, Flags]:
    """The cells of each region; regions of one name are told apart by their identifiers."""
    often = Counter((WHOLE_CITY, *regions.names))
    return {
        f"{name} ({id_})" if often[name] > 1 else name: regions.of_cell == number
        for number, (id_, name) in enumerate(zip(regions.ids, regions.names, strict=True))
    }


def compass(centroids: Floats) -> dict[str, Flags]:
    """The cells in the north, in the south-west, and so on: thirds by thirds; nothing for a few cells."""
    if len(centroids) < LEAST_CELLS:
        return {}
    east, north = (np.searchsorted(np.quantile(axis, (1 / 3, 2 / 3)), axis) for axis in centroids.T)
    parts = {PARTS[row][column]: (north == row) & (east == column) for row in (2, 1, 0) for column in range(3)}
    return {name: part for name, part in parts.items() if part.any()}


def people_for_page(factors: PeopleFactors, week: WeekCounts, groups: Mapping[str, Flags]) -> dict[str, Any]:
    """The people of a week as the page's script gets them.

    numbers       people of each cell and hour, as files have them
    fewest, most  people per visit by the bounds of factors: a list by cell and one by hour, to be multiplied; a cell's
                  people lie between count - 1.96 errors at the fewest and count + 1.96 errors at the most
    groups        `low` and `high` of each hour, for each group of cells; null where errors of sums are not told
    """
    numbers = people_in_cells(factors, week).number
    areas = np.array(list(groups.values()), dtype=np.float64).reshape(-1, len(numbers))
    of_groups = people_of_sums(factors, week, numbers, areas, np.eye(HOURS))
    return {
        "numbers": numbers.tolist(),
        "fewest": _rates(factors.fewest),
        "most": _rates(factors.most),
        "groups": [
            None if np.isnan([low, high]).any() else {"low": low.tolist(), "high": high.tolist()}
            for low, high in zip(of_groups.low, of_groups.high, strict=True)
        ],
    }


def _rates(rate: PerVisit) -> dict[str, list[float]]:
    lists = {"cells": rate.cells, "hours": rate.hours}
    return {name: [float(f"{value:.{RATE_DIGITS}g}") for value in values] for name, values in lists.items()}
