"""From files of traces to the matrix: GPS points, tap events, and our own tables of visits.

Everything on points is one SELECT in DuckDB; lines that cannot be used are counted by reason and left out.
"""

from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import polars as pl
from numpy.typing import NDArray

from density_assets.calendar import HOURS, week_clock
from density_assets.damage import STREAM_DAMAGE
from density_assets.errors import BadInput
from density_assets.records.parquet_files import column_names, open_columns
from density_assets.research.traces.matrix import Traces, binary
from density_assets.research.traces.recipe import Recipe
from density_assets.research.traces.stations import read_stations
from density_assets.research.traces.trace_tables import PARQUET, POINT, open_traces, trace_files

KILOMETRES_PER_DEGREE = 111.2
VISIT = ("user_id", "hour", "tower_id")  # columns of a table of visits


@dataclass(frozen=True)
class Reading:
    """Traces, and how many records were left out and why."""

    traces: Traces
    left_out: dict[str, int]


def read_traces(data: Path, recipe: Recipe) -> Reading:
    """Read a file or a folder of files of the kind the recipe names."""
    if not data.exists():
        raise BadInput(f"DATA must name a file or a folder of traces, {data} is not there")
    try:
        with duckdb.connect() as connection:
            reading = {"gps": _gps, "taps": _taps, "visits": _visits}[recipe.kind](connection, data, recipe)
    except STREAM_DAMAGE as error:
        raise BadInput(f"{data} must be readable, its files gave {type(error).__name__}") from None
    if len(reading.traces.users) == 0:
        raise BadInput(
            f"{data}: no record lies in the box and the {recipe.weeks} weeks from {recipe.first_week}; left out: "
            f"{reading.left_out}. Say in traces.toml where and when they are"
        )
    return reading


def _gps(connection: duckdb.DuckDBPyConnection, data: Path, recipe: Recipe) -> Reading:
    south, west = f"try_cast(lat as double) - ({recipe.south})", f"try_cast(lon as double) - ({recipe.west})"
    cell = open_traces(connection, trace_files(data, recipe), recipe, POINT).project(
        f"""record_user, {_hour(recipe)} as hour,
        try_cast(floor(({south}) / {recipe.north - recipe.south} * {recipe.rows}) as bigint) as y,
        try_cast(floor(({west}) / {recipe.east - recipe.west} * {recipe.columns}) as bigint) as x"""
    )
    inside = f"x between 0 and {recipe.columns - 1} and y between 0 and {recipe.rows - 1}"
    placed = cell.project(f"record_user, hour, y * {recipe.columns} + x as roi, {inside} as inside")
    kept, left_out = _distinct(connection, placed, recipe)
    traces = _traces(kept, recipe.rows * recipe.columns, recipe, _centres(recipe), (recipe.rows, recipe.columns))
    return Reading(traces, left_out)


def _taps(connection: duckdb.DuckDBPyConnection, data: Path, recipe: Recipe) -> Reading:
    records = open_traces(connection, trace_files(data, recipe), recipe, ("user", "station", "time"))
    placed = records.project(f"record_user, {_hour(recipe)} as hour, cast(station as varchar) as roi, true as inside")
    return _at_stations(connection, placed, data, recipe)


def _visits(connection: duckdb.DuckDBPyConnection, data: Path, recipe: Recipe) -> Reading:
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


def _at_stations(
    connection: duckdb.DuckDBPyConnection, placed: duckdb.DuckDBPyRelation, data: Path, recipe: Recipe
) -> Reading:
    """Stations are numbered in the order of their names: those of the list, or without one those that were seen."""
    if recipe.stations is None:
        kept, left_out = _distinct(connection, placed, recipe)
        names, roi = np.unique(np.asarray(kept["roi"]).astype(str), return_inverse=True)
        line = np.stack([np.arange(len(names), dtype=np.float64), np.zeros(len(names))], axis=1)
        traces = _traces({**kept, "roi": roi}, len(names), recipe, line, None)
        return Reading(replace(traces, placed=False), left_out)
    stations = read_stations(data, recipe)
    connection.register("stations", pl.DataFrame({"name": stations.names}))
    known = placed.project("record_user, hour, roi, roi in (select name from stations) as inside")
    kept, left_out = _distinct(connection, known, recipe)
    roi = np.searchsorted(stations.names, np.asarray(kept["roi"]).astype(str))
    return Reading(_traces({**kept, "roi": roi}, len(stations.names), recipe, stations.positions, None), left_out)


def _distinct(
    connection: duckdb.DuckDBPyConnection, placed: duckdb.DuckDBPyRelation, recipe: Recipe
) -> tuple[dict[str, NDArray[np.generic]], dict[str, int]]:
    """Distinct user, ROI and hour of what can be used, and how many rows cannot be, by reason.

    placed: record_user, hour, roi and inside; null where unreadable.
    """
    reason = f"""case when record_user is null or hour is null or roi is null then 'unreadable'
        when hour not between 0 and {recipe.weeks * HOURS - 1} then 'outside the weeks'
        when not inside then '{"outside the box" if recipe.kind == "gps" else "at unknown stations"}' else '' end"""
    placed.project(f"*, {reason} as reason").create("judged")
    counted = connection.sql("select reason, count(*) from judged where reason <> '' group by reason order by reason")
    left_out = dict(counted.fetchall())
    return connection.sql("select distinct record_user, roi, hour from judged where reason = ''").fetchnumpy(), left_out


def _traces(
    kept: dict[str, NDArray[np.generic]],
    rois: int,
    recipe: Recipe,
    positions: NDArray[np.float64],
    grid: tuple[int, int] | None,
) -> Traces:
    users, row = np.unique(np.asarray(kept["record_user"]).astype(str), return_inverse=True)
    hours = recipe.weeks * HOURS
    column = np.asarray(kept["roi"], dtype=np.int64) * hours + np.asarray(kept["hour"], dtype=np.int64)
    return Traces(binary(row, column, (len(users), rois * hours)), users, hours, positions, grid)


def _hour(recipe: Recipe) -> str:
    """SQL for the hour since the first Monday 00:00 on local clocks, from `moment` (UTC) or `wall_clock`, seconds."""
    zone = ZoneInfo(recipe.timezone) if recipe.timezone else None
    start = week_clock(recipe.first_week, ZoneInfo("UTC")).monday
    if zone is None:
        assert recipe.utc_offset is not None  # a recipe has one of the two
        offset = str(round(3600 * recipe.utc_offset))
    else:
        clocks = [week_clock(recipe.first_week + timedelta(weeks=number), zone) for number in range(recipe.weeks)]
        steps = " ".join(f"when moment < {clock.change} then {clock.before}" for clock in clocks)
        offset = f"(case {steps} else {clocks[-1].after} end)"
    return f"try_cast(floor((coalesce(moment + {offset}, wall_clock) - {start}) / 3600) as bigint)"


def _centres(recipe: Recipe) -> NDArray[np.float64]:
    """Centres of the grid's cells in kilometres, row by row from the south-west."""
    height = (recipe.north - recipe.south) * KILOMETRES_PER_DEGREE / recipe.rows
    shrink = np.cos(np.radians((recipe.north + recipe.south) / 2))
    width = (recipe.east - recipe.west) * KILOMETRES_PER_DEGREE * shrink / recipe.columns
    row, column = np.divmod(np.arange(recipe.rows * recipe.columns), recipe.columns)
    return np.stack([(column + 0.5) * width, (row + 0.5) * height], axis=1)
