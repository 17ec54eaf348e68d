"""Records of traces from files of any layout: who, when and where, or why a record is left out.

1. `open_traces` reads files as one relation: text with a line per record, or Parquet. A text line stands for itself,
   whatever the lines around it hold: it is split, and what does not have its fields becomes null, to be counted as
   unreadable. A first line in which no field starts like a number names the columns: a record has a time, which does.
   Without names the lines are GPS points of one of these layouts, and each line says which:

       lat lon occupancy unixtime          the cab is the name of the file (`new_<cab>.txt` in San Francisco)
       cab lat lon [occupancy] unixtime
       taxi,datetime,lon,lat               with a comma or a semicolon, as the taxis of Beijing come (T-Drive)

   So are those of a `.txt` or `.dat` file that starts with neither.
2. `placed_points` says in which cell and hour a GPS point lies, `read_stations` where stations are.
3. `judged` counts the records that cannot be used by reason, and leaves them out. What a reader lays out is what it
   leaves (`readers.py`).
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import reduce
from pathlib import Path
from typing import TypeVar
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from density_assets.calendar import HOURS, week_clock
from density_assets.damage import POLARS_DAMAGE, STREAM_DAMAGE
from density_assets.errors import BadInput, missing_column
from density_assets.records.csv_files import lines, open_text
from density_assets.records.event_files import private_database
from density_assets.records.formats import column_names, open_columns
from density_assets.records.values import time_expressions
from density_assets.research.traces.recipe import FILE, Recipe, Tally
from density_assets.sql_names import literal, quoted

Relation = duckdb.DuckDBPyRelation
PLAIN, PARQUET = (".txt", ".dat"), (".parquet",)
TEXT = (*PLAIN, ".csv", ".tsv")
POINT = ("user", "lat", "lon", "time")
OTHER_NAMES = {
    "user": ("cab_id", "id"),
    "lat": ("latitude",),
    "lon": ("longitude",),
    "time": ("timestamp", "time", "datetime"),
}
DATE = r"^\d{4}-\d\d-\d\d"
BYTE_ORDER_MARK = b"\xef\xbb\xbf".decode("latin-1")
LINES = pa.schema({"line": pa.large_string(), "filename": pa.string()})
HEADER_BYTES = 1 << 20


def trace_files(data: Path, recipe: Recipe, endings: Sequence[str] = TEXT + PARQUET) -> list[Path]:
    """The file named, or those of a folder with the ending that holds the most bytes: notes beside data are small."""
    if data.is_file():
        return [data]
    by_ending: dict[str, list[Path]] = {ending: [] for ending in endings}
    for file in sorted(data.rglob("*")):
        notes = file.name.lower().startswith(("_", ".", "readme")) or file.name == recipe.stations
        if file.is_file() and not notes:
            by_ending.get(_ending(file), []).append(file)
    found = max(by_ending.values(), key=lambda files: sum(file.stat().st_size for file in files))
    if not found:
        raise BadInput(f"{data} must hold files of traces ({', '.join(endings)}; text also as .gz), found none")
    return found


def open_traces(
    connection: duckdb.DuckDBPyConnection, files: list[Path], recipe: Recipe, keys: Sequence[str]
) -> Relation:
    """Columns record_user, moment (seconds of UTC), wall_clock (seconds) and the keys; null where unreadable.

    keys: what a record has: user, time, and lat and lon or station.
    """
    if _ending(files[0]) in PARQUET:
        named = _named(column_names(files[0]), files[0], recipe, keys)
        raw = open_columns(connection, files, {f"{key} in {FILE}": column for key, column in named.items()})
        records = raw.project(", ".join(f"{quoted(column)} as {quoted(key)}" for key, column in named.items()))
    else:
        by_header: dict[str | None, list[Path]] = {}
        for file in files:
            by_header.setdefault(_header(file, recipe, keys), []).append(file)
        parts = (_lines(connection, mine, header, recipe, keys) for header, mine in by_header.items())
        records = reduce(lambda one, other: one.union(other), parts)
    types = dict(zip(records.columns, map(str, records.types), strict=True))
    moment, wall_clock = time_expressions("time", types["time"], "time", files[0])
    user = """nullif(cast("user" as varchar), '') as record_user"""
    return records.project(f"{user}, {moment} as moment, {wall_clock} as wall_clock, *")


def _lines(
    connection: duckdb.DuckDBPyConnection, files: list[Path], header: str | None, recipe: Recipe, keys: Sequence[str]
) -> Relation:
    stream = connection.from_arrow(pa.RecordBatchReader.from_batches(LINES, _named_lines(files)))
    records = stream.filter("line is null or trim(line) <> ''")  # null: a line that is far too long
    if header is not None:
        return _by_name(records.filter(f"line is distinct from {literal(header)}"), files[0], header, recipe, keys)
    if set(keys) != set(POINT):
        raise BadInput(f"{files[0].name}: line 1 must name the columns; say in {FILE} which are {', '.join(keys)}")
    return _by_layout(records)


def _named_lines(files: list[Path]) -> Iterator[pa.RecordBatch]:
    """The lines of files, each with the name of its file."""
    for file in files:
        for some in lines(file, latin1=True):
            yield pa.record_batch([some, pa.repeat(str(file), len(some))], LINES)


def _by_name(records: Relation, file: Path, header: str, recipe: Recipe, keys: Sequence[str]) -> Relation:
    separator, columns = _split(header)
    named = _named(columns, file, recipe, keys)
    fields = records.project(f"string_split_regex(trim(line), {literal(separator)}) as field")
    whole = fields.project(f"case when len(field) = {len(columns)} then field end as field")
    places = {key: columns.index(column) + 1 for key, column in named.items()}
    return whole.project(", ".join(f"trim(field[{at}], ' \"') as {quoted(key)}" for key, at in places.items()))


def _by_layout(records: Relation) -> Relation:
    """Four fields whose third is a digit, an occupancy and no longitude, are those of a file of one cab.

    A line whose second field starts with a date is put into the order of the others first.
    """
    dated = records.project(r"filename, line, string_split_regex(trim(line), '\s*[,;]\s*') as part").project(
        rf"""filename, case when regexp_matches(part[2], '{DATE}') then if(len(part) = 4,
        [part[1], part[4], part[3], part[2]], null) else string_split_regex(trim(line), '[\s,;]+') end as field"""
    )
    whole = dated.project("filename, case when len(field) in (4, 5) then field end as field")
    name = r"regexp_extract(filename, '(?:new_)?([^/\\]+?)(?:\.\w+)?(?:\.gz)?$', 1)"
    own = whole.project(rf"field, case when len(field) = 4 and regexp_matches(field[3], '^\d$') then {name} end as cab")
    return own.project(
        """coalesce(cab, field[1]) as "user", if(cab is null, field[2], field[1]) as lat,
        if(cab is null, field[3], field[2]) as lon, field[-1] as "time" """
    )


def _named(columns: Sequence[str], file: Path, recipe: Recipe, keys: Sequence[str]) -> dict[str, str]:
    """The column of each key; refused if one is missing."""
    found = _matching_columns(columns, recipe, keys)
    for key in keys:
        if key not in found:
            raise missing_column(file, f"{key} in {FILE}", getattr(recipe, key), columns)
    return found


def _matching_columns(columns: Sequence[str], recipe: Recipe, keys: Sequence[str]) -> dict[str, str]:
    """Columns as the recipe names them or, where it does not, by other usual names; case is ignored."""
    by_lower = {column.lower(): column for column in columns}
    found: dict[str, str] = {}
    for key in keys:
        others = () if key in recipe.model_fields_set else OTHER_NAMES.get(key, ())
        for name in (getattr(recipe, key), *others):
            if name.lower() in by_lower:
                found.setdefault(key, by_lower[name.lower()])
    return found


def _header(file: Path, recipe: Recipe, keys: Sequence[str]) -> str | None:
    """The first line that is not blank, if it names columns."""
    with open_text(file) as content:
        start = content.read(HEADER_BYTES).decode("latin-1")
    line = next((line for line in re.split(r"[\r\n]", start) if line.strip()), "")
    names = _split(line)[1]
    if any(re.match(r"[-+.]?\d", name) for name in names):
        return None
    return line if _ending(file) not in PLAIN or len(_matching_columns(names, recipe, keys)) == len(keys) else None


def _split(header: str) -> tuple[str, list[str]]:
    """What separates the fields, as a regular expression, and the fields."""
    separator = next((re.escape(mark) for mark in ",;\t|" if mark in header), r"\s+")
    fields = re.split(separator, header.removeprefix(BYTE_ORDER_MARK).strip(" "))
    return separator, [field.strip(' "') for field in fields]


def _ending(file: Path) -> str:
    return Path(file.name.lower().removesuffix(".gz")).suffix


@dataclass(frozen=True)
class Stations:
    """Stations in the order of their names, and x and y of each."""

    names: NDArray[np.str_]
    positions: NDArray[np.float64]


def read_stations(data: Path, recipe: Recipe) -> Stations:
    """The list the recipe names: CSV beside text, Parquet beside Parquet, with the recipe's `station`, x and y."""
    assert recipe.stations is not None  # who asks has one
    file = (data if data.is_dir() else data.parent) / recipe.stations
    if not file.is_file():
        raise BadInput(f"stations in {FILE} must name a file beside the traces, {file} is not there")
    table = _station_table(file)
    for column in (recipe.station, "x", "y"):
        if column not in table.columns:
            raise missing_column(file, f"stations in {FILE}", column, table.columns)
    named = table.with_columns(pl.col(recipe.station).cast(pl.String)).sort(recipe.station)
    numbers = named.select(pl.col("x", "y").cast(pl.Float64, strict=False))
    if not numbers.to_numpy().size or not np.isfinite(numbers.to_numpy()).all():
        raise BadInput(f"{file.name}: every station must have numbers as x and y, got some that are none")
    if named[recipe.station].is_duplicated().any():
        raise BadInput(f"{file.name}: every station must stand there once, got some twice")
    return Stations(named[recipe.station].to_numpy().astype(str), numbers.to_numpy())


def _station_table(file: Path) -> pl.DataFrame:
    """Text is read byte by byte, as the lines of traces are, so that names agree whatever their encoding."""
    try:
        if file.suffix == ".parquet":
            return pl.read_parquet(file)
        table = pl.read_csv(file, infer_schema=False, encoding="latin-1")
    except POLARS_DAMAGE as error:
        raise BadInput(f"{file.name} must be readable CSV or Parquet, it gave {type(error).__name__}") from None
    return table.rename({name: name.removeprefix(BYTE_ORDER_MARK) for name in table.columns})


Connection = duckdb.DuckDBPyConnection
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


def leave_out_unusable(connection: Connection, placed: Relation, recipe: Recipe) -> tuple[Relation, Tally]:
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
