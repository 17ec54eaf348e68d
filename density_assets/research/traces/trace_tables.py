"""Files of traces as one relation: text with a line per record, or Parquet.

A text line stands for itself, whatever the lines around it hold: it is split, and what does not have its fields becomes
null, to be counted as unreadable. A first line in which no field starts like a number names the columns: a record has a
time, which does. Without names the lines are GPS points of one of these layouts, and each line says which:

    lat lon occupancy unixtime          the cab is the name of the file (`new_<cab>.txt` in San Francisco)
    cab lat lon [occupancy] unixtime
    taxi,datetime,lon,lat               with a comma or a semicolon, as the taxis of Beijing come (T-Drive)

So are those of a `.txt` or `.dat` file that starts with neither.
"""

import re
from collections.abc import Iterator, Sequence
from functools import reduce
from pathlib import Path

import duckdb
import pyarrow as pa

from density_assets.errors import BadInput, missing_column
from density_assets.records.parquet_files import column_names, open_columns
from density_assets.records.text_files import lines, opened
from density_assets.records.times import time_expressions
from density_assets.research.traces.recipe import FILE, Recipe
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
    found = _found(columns, recipe, keys)
    for key in keys:
        if key not in found:
            raise missing_column(file, f"{key} in {FILE}", getattr(recipe, key), columns)
    return found


def _found(columns: Sequence[str], recipe: Recipe, keys: Sequence[str]) -> dict[str, str]:
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
    with opened(file) as content:
        start = content.read(HEADER_BYTES).decode("latin-1")
    line = next((line for line in re.split(r"[\r\n]", start) if line.strip()), "")
    names = _split(line)[1]
    if any(re.match(r"[-+.]?\d", name) for name in names):
        return None
    return line if _ending(file) not in PLAIN or len(_found(names, recipe, keys)) == len(keys) else None


def _split(header: str) -> tuple[str, list[str]]:
    """What separates the fields, as a regular expression, and the fields."""
    separator = next((re.escape(mark) for mark in ",;\t|" if mark in header), r"\s+")
    fields = re.split(separator, header.removeprefix(BYTE_ORDER_MARK).strip(" "))
    return separator, [field.strip(' "') for field in fields]


def _ending(file: Path) -> str:
    return Path(file.name.lower().removesuffix(".gz")).suffix
