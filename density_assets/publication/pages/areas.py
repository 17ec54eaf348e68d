"""Sums that readers ask for first, with their intervals: the whole city and its parts, by day and in the week.

Parts are the regions that a city names. Where it names none they are what a compass says: thirds of the cells from west
to east by thirds from south to north. Other sums are the reader's, with the table of errors of sums beside the page.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from density_assets.calendar import HOURS
from density_assets.estimation.weeks.summary import Summary
from density_assets.geography.regions import Regions
from density_assets.publication.sums import WITHIN

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]

CITY = "whole city"
PARTS = (
    ("south-west", "south", "south-east"),
    ("west", "centre", "east"),
    ("north-west", "north", "north-east"),
)
LEAST_CELLS = 18  # two for each part: smaller cities are shown as a whole


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


def areas_by_day(
    summary: Summary, counts: Counts, errors: Floats, centroids: Floats, happens: Mask, regions: Regions | None = None
) -> list[Area]:
    """The city and its parts.

    counts, errors: as published, cells x 168. happens: whether an hour does, when clocks change.
    """
    parts = city_and_parts(centroids, regions)
    areas = np.stack(list(parts.values())).astype(np.float64)
    days = np.column_stack([np.repeat(np.eye(7), HOURS // 7, axis=0), np.ones(HOURS)]) * happens[:, None]
    visits = areas @ counts @ days
    margins = WITHIN * np.sqrt(summary.variance(counts.astype(np.float64), errors, areas, days))
    rows = zip(parts.items(), visits.tolist(), margins.tolist(), strict=True)
    return [Area(name, int(part.sum()), tuple(map(_interval, row, wide))) for (name, part), row, wide in rows]


def city_and_parts(centroids: Floats, regions: Regions | None = None) -> dict[str, Mask]:
    """All cells, then those of each region; where a city names none, of each part that a compass says."""
    parts = compass(centroids) if regions is None else by_region(regions)
    return {CITY: np.ones(len(centroids), bool), **parts}


def by_region(regions: Regions) -> dict[str, Mask]:
    """Which cells are in which region; those of one name are told apart by their identifiers."""
    often = Counter((CITY, *regions.names))
    shown = [
        f"{name} ({id_})" if often[name] > 1 else name for id_, name in zip(regions.ids, regions.names, strict=True)
    ]
    return {name: regions.of_cell == place for place, name in enumerate(shown)}


def compass(centroids: Floats) -> dict[str, Mask]:
    """Which cells are in the north, in the south-west, and so on; none for a few cells."""
    if len(centroids) < LEAST_CELLS:
        return {}
    east, north = (np.searchsorted(np.quantile(axis, (1 / 3, 2 / 3)), axis) for axis in centroids.T)
    found = {PARTS[row][column]: (north == row) & (east == column) for row in (2, 1, 0) for column in range(3)}
    return {name: part for name, part in found.items() if part.any()}


def _interval(visits: float, margin: float) -> Interval:
    return Interval(round(visits), round(float(f"{margin:.2g}")))
