"""Where and when each record of traces lies, and why some are left out: one SELECT in DuckDB for every reader.

A record is placed (`placed_points`), judged (`judged`), and those that can be used are what a reader lays out: by the
hour for attacks on membership (`files.py`), by day and stamp for moving characteristics (`days.py`).
"""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TypeVar
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
from numpy.typing import NDArray

from density_assets.calendar import HOURS, week_clock
from density_assets.damage import STREAM_DAMAGE
from density_assets.errors import BadInput
from density_assets.records.private_database import private_database
from density_assets.research.traces.recipe import FILE, Recipe
from density_assets.research.traces.tally import Tally
from density_assets.research.traces.trace_tables import POINT, open_traces, trace_files

Connection = duckdb.DuckDBPyConnection
Relation = duckdb.DuckDBPyRelation
Laid = TypeVar("Laid")
KILOMETRES_PER_DEGREE = 111.2


def read_with(data: Path, recipe: Recipe, lay_out: Callable[[Connection, Path, Recipe], Laid]) -> Laid:
    """What a reader makes of the files; damage is refused in words."""
    if not data.exists():
        raise BadInput(f"DATA must name a file or a folder of traces, {data} is not there")
    try:
        with private_database() as connection:
            return lay_out(connection, data, recipe)
    except STREAM_DAMAGE as error:
        raise BadInput(f"{data} must be readable, its files gave {type(error).__name__}") from None


def placed_points(connection: Connection, data: Path, recipe: Recipe) -> Relation:
    """GPS points as record_user, second (since the first Monday on local clocks), hour, roi and inside."""
    south, west = f"try_cast(lat as double) - ({recipe.south})", f"try_cast(lon as double) - ({recipe.west})"
    cell = open_traces(connection, trace_files(data, recipe), recipe, POINT).project(
        f"""record_user, {local_second(recipe)} as second,
        try_cast(floor(({south}) / {recipe.north - recipe.south} * {recipe.rows}) as bigint) as y,
        try_cast(floor(({west}) / {recipe.east - recipe.west} * {recipe.columns}) as bigint) as x"""
    )
    inside = f"x between 0 and {recipe.columns - 1} and y between 0 and {recipe.rows - 1}"
    return cell.project(
        f"record_user, second, {hour_of('second')} as hour, y * {recipe.columns} + x as roi, {inside} as inside"
    )


def judged(connection: Connection, placed: Relation, recipe: Recipe) -> tuple[Relation, Tally]:
    """The records that can be used, and how many cannot be, by reason; refused if none can.

    placed: record_user, hour, roi and inside, and what else a reader needs; null where unreadable.
    """
    reason = f"""case when record_user is null or hour is null or roi is null then 'unreadable'
        when hour not between 0 and {recipe.weeks * HOURS - 1} then 'outside the weeks'
        when not inside then '{"outside the box" if recipe.kind == "gps" else "at unknown stations"}' else '' end"""
    placed.project(f"*, {reason} as reason").create("judged")
    by_reason = dict(connection.sql("select reason, count(*) from judged group by reason order by reason").fetchall())
    usable = connection.sql("select * exclude (reason) from judged where reason = ''")
    left_out = {reason: count for reason, count in by_reason.items() if reason}
    if "" not in by_reason:
        raise BadInput(
            f"no record lies in the box and the {recipe.weeks} weeks from {recipe.first_week}; left out: {left_out}. "
            f"Say in {FILE} beside the traces where and when they are"
        )
    ((users,),) = usable.aggregate("count(distinct record_user)").fetchall()
    return usable, Tally(recipe, sum(by_reason.values()), left_out, users)


def local_second(recipe: Recipe) -> str:
    """SQL for the second since the first Monday 00:00 on local clocks, from `moment` (UTC) or `wall_clock`."""
    zone = ZoneInfo(recipe.timezone) if recipe.timezone else None
    start = week_clock(recipe.first_week, ZoneInfo("UTC")).monday
    if zone is None:
        assert recipe.utc_offset is not None  # a recipe has one of the two
        offset = str(round(3600 * recipe.utc_offset))
    else:
        clocks = [week_clock(recipe.first_week + timedelta(weeks=number), zone) for number in range(recipe.weeks)]
        steps = " ".join(f"when moment < {clock.change} then {clock.before}" for clock in clocks)
        offset = f"(case {steps} else {clocks[-1].after} end)"
    return f"(coalesce(moment + {offset}, wall_clock) - {start})"


def hour_of(second: str) -> str:
    """SQL for the hour a second lies in."""
    return f"try_cast(floor({second} / 3600) as bigint)"


def grid_centres(recipe: Recipe) -> NDArray[np.float64]:
    """Centres of the grid's cells in kilometres, row by row from the south-west."""
    height = (recipe.north - recipe.south) * KILOMETRES_PER_DEGREE / recipe.rows
    shrink = np.cos(np.radians((recipe.north + recipe.south) / 2))
    width = (recipe.east - recipe.west) * KILOMETRES_PER_DEGREE * shrink / recipe.columns
    row, column = np.divmod(np.arange(recipe.rows * recipe.columns), recipe.columns)
    return np.stack([(column + 0.5) * width, (row + 0.5) * height], axis=1)
