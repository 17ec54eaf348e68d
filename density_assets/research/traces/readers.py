"""From files of traces to matrices: one point per user, region of interest and hour, or one cell per stamp of a day.

Lines that cannot be used are counted by reason and left out (`trace_records.py`). `read_traces` lays the others out by
the hour, for attacks and techniques; `read_days` by day and stamp, as moving characteristics need them: one cell per
user and stamp, the last position of it. Where a user was not seen they stay where they were last; before the first
position of a day they are where that will be. Box, grid, clocks, weeks and the length of a stamp are those of the
recipe; without one, taxis of Beijing (T-Drive; Yuan et al. 2010, 2011) in cells of 500 m and stamps of 30 minutes.
"""

from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from density_assets.calendar import HOURS
from density_assets.errors import BadInput
from density_assets.records.formats import column_names, open_columns
from density_assets.research.traces.matrix import Traces, binary
from density_assets.research.traces.recipe import FILE, Recipe, Tally, read_recipe
from density_assets.research.traces.trace_records import (
    PARQUET,
    Connection,
    Relation,
    grid_centres,
    hour_of,
    leave_out_unusable,
    local_second,
    open_traces,
    placed_points,
    read_stations,
    read_with,
    trace_files,
)
from density_assets.settings import Settings

VISIT = ("user_id", "hour", "tower_id")  # columns of a table of visits


@dataclass(frozen=True)
class Reading:
    """Traces, and how many records were used."""

    traces: Traces
    tally: Tally


def study_traces(data: Path, settings: Settings) -> tuple[Reading, Recipe]:
    """What a study may read: traces that a person names, as the recipe beside them says.

    Visits of a city of real people are refused: studies draw many times and compare with the truth.
    """
    recipe = read_recipe(data)
    if recipe.kind == "visits" and not settings.city.synthetic:
        raise BadInput(
            "studies of tables of visits must run on a synthetic city, got one with records of real people: they draw "
            "noise many times and compare with the truth, which nobody pays for"
        )
    return read_traces(data, recipe), recipe


def read_traces(data: Path, recipe: Recipe) -> Reading:
    """Read a file or a folder of files of the kind the recipe names."""
    return read_with(data, recipe, {"gps": _gps, "taps": _taps, "visits": _visits}[recipe.kind])


def _gps(connection: Connection, data: Path, recipe: Recipe) -> Reading:
    points, tally = _distinct(connection, placed_points(connection, data, recipe), recipe)
    grid = (recipe.rows, recipe.columns)
    return Reading(_traces(points, recipe.rows * recipe.columns, recipe, grid_centres(recipe), grid), tally)


def _taps(connection: Connection, data: Path, recipe: Recipe) -> Reading:
    records = open_traces(connection, trace_files(data, recipe), recipe, ("user", "station", "time"))
    hour = hour_of(local_second(recipe))
    placed = records.project(f"record_user, {hour} as hour, cast(station as varchar) as roi, true as inside")
    return _at_stations(connection, placed, data, recipe)


def _visits(connection: Connection, data: Path, recipe: Recipe) -> Reading:
    """Tables as the asset `visits` stores them: week, user_id, hour of the week, tower_id."""
    files = trace_files(data, recipe, PARQUET)
    weekly = "week" in column_names(files[0])
    raw = open_columns(connection, files, {f"visits.{name}": name for name in (*VISIT, *(["week"] if weekly else []))})
    week = "dense_rank() over (order by week) - 1" if weekly else "0"
    hour = f"try_cast(hour as bigint) + {HOURS} * ({week})"
    placed = raw.project(
        f"""nullif(cast(user_id as varchar), '') as record_user, {hour} as hour, cast(tower_id as varchar) as roi,
        true as inside"""
    )
    return _at_stations(connection, placed, data, recipe)


def _at_stations(connection: Connection, placed: Relation, data: Path, recipe: Recipe) -> Reading:
    """Stations are numbered in the order of their names: those of the list, or without one those that were seen."""
    if recipe.stations is None:
        points, tally = _distinct(connection, placed, recipe)
        names, roi = np.unique(np.asarray(points["roi"]).astype(str), return_inverse=True)
        line = np.stack([np.arange(len(names), dtype=np.float64), np.zeros(len(names))], axis=1)
        traces = _traces({**points, "roi": roi}, len(names), recipe, line, None)
        return Reading(replace(traces, placed=False), tally)
    stations = read_stations(data, recipe)
    connection.register("stations", pl.DataFrame({"name": stations.names}))
    known = placed.project("record_user, hour, roi, roi in (select name from stations) as inside")
    points, tally = _distinct(connection, known, recipe)
    roi = np.searchsorted(stations.names, np.asarray(points["roi"]).astype(str))
    return Reading(_traces({**points, "roi": roi}, len(stations.names), recipe, stations.positions, None), tally)


def _distinct(connection: Connection, placed: Relation, recipe: Recipe) -> tuple[dict[str, NDArray[np.generic]], Tally]:
    """Distinct user, ROI and hour of what can be used."""
    usable, tally = leave_out_unusable(connection, placed, recipe)
    return usable.project("record_user, roi, hour").distinct().fetchnumpy(), tally


def _traces(
    points: dict[str, NDArray[np.generic]],
    rois: int,
    recipe: Recipe,
    positions: NDArray[np.float64],
    grid: tuple[int, int] | None,
) -> Traces:
    users, row = np.unique(np.asarray(points["record_user"]).astype(str), return_inverse=True)
    hours = recipe.weeks * HOURS
    column = np.asarray(points["roi"], dtype=np.int64) * hours + np.asarray(points["hour"], dtype=np.int64)
    return Traces(binary(row, column, (len(users), rois * hours)), users, hours, positions, grid)


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
    usable, tally = leave_out_unusable(connection, placed_points(connection, data, recipe), recipe)
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
