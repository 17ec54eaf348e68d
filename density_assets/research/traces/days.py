"""GPS points laid out by day: the cell each user is in at every stamp, as moving characteristics need them.

One cell per user and stamp, the last position of it. Where a user was not seen they stay where they were last; before
the first position of a day they are where that will be. Box, grid, clocks, weeks and the length of a stamp are those of
the recipe; without one, taxis of Beijing (T-Drive; Yuan et al. 2010, 2011) in cells of 500 m and stamps of 30 minutes.
"""

from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from density_assets.errors import BadInput
from density_assets.research.traces.placed_records import Connection, grid_centres, judged, placed_points, read_with
from density_assets.research.traces.recipe import FILE, Recipe
from density_assets.research.traces.tally import Tally

DAY = 24 * 60  # minutes
METRES = 1_000.0  # per kilometre


@dataclass(frozen=True)
class DailyCells:
    """Users of the days that have any record.

    xy: centres of the cells, in metres.
    cells: (days, users, stamps); users not seen on a day have -1 all day.
    """

    xy: NDArray[np.float64]
    cells: NDArray[np.int32]
    days: tuple[date, ...]
    tally: Tally


def read_days(data: Path, recipe: Recipe) -> DailyCells:
    """Read a file or a folder of GPS points."""
    if recipe.kind != "gps":
        raise BadInput(
            f'studies of moving characteristics must have GPS points, got kind = "{recipe.kind}" in {FILE}: people at '
            "stations are seen when they enter and leave, not where they move"
        )
    return read_with(data, recipe, _days)


def _days(connection: Connection, data: Path, recipe: Recipe) -> DailyCells:
    usable, tally = judged(connection, placed_points(connection, data, recipe), recipe)
    stamp = f"cast(floor(second / {60 * recipe.minutes}) as bigint)"
    # Of two positions in the same second the cell with the larger number counts: files have no order between them.
    last = usable.project(f"record_user, {stamp} as stamp, {{'second': second, 'roi': roi}} as seen").aggregate(
        "record_user, stamp, max(seen).roi as roi"
    )
    found = last.fetchnumpy()
    users, row = np.unique(np.asarray(found["record_user"]).astype(str), return_inverse=True)
    day, slot = np.divmod(np.asarray(found["stamp"], dtype=np.int64), DAY // recipe.minutes)
    numbers, at = np.unique(day, return_inverse=True)
    cells = np.full((len(numbers), len(users), DAY // recipe.minutes), -1, dtype=np.int32)
    cells[at, row, slot] = np.asarray(found["roi"])
    days = tuple(recipe.first_week + timedelta(days=number) for number in numbers.tolist())
    return DailyCells(METRES * grid_centres(recipe), _carried(cells), days, tally)


def _carried(cells: NDArray[np.int32]) -> NDArray[np.int32]:
    """Gaps filled by the last cell before them, or the first after them."""
    known = cells >= 0
    latest = np.maximum.accumulate(np.where(known, np.arange(cells.shape[2]), -1), axis=2)
    first = np.argmax(known, axis=2)[..., None]
    return np.take_along_axis(cells, np.where(latest >= 0, latest, first), axis=2)
