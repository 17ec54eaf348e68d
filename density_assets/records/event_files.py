"""Records of real people: a week's files, read as (user, time, tower).

A record is one event of one device at one antenna. Nothing is filtered here; `events.sql` decides what can be used.
How a record is read never depends on another record: column types come from the files' schema (CSV is text), the
dialect of a CSV from its first line, and every line stands for itself. Were any of it guessed from content, one
person's odd record could change how everybody else's are read; could a record stop the run, everybody would see it.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import reduce
from pathlib import Path

import duckdb
import pyarrow as pa

from density_assets.damage import STREAM_DAMAGE
from density_assets.errors import BadInput
from density_assets.records.parquet_files import open_by_types
from density_assets.records.text_files import lines, opened
from density_assets.sql_names import literal, quoted

FIRST_LINE_BYTES = 1 << 20
UNREADABLE = "line not readable"  # why a line is left out that is no text, or far too long
INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")

# Seconds of UTC where the record says so, else the wall clock as seconds; exactly one of the two is set.
MOMENT = {
    "TIMESTAMP WITH TIME ZONE": "epoch({time})",
    "NUMBER": "case when {time} >= 100000000000 then {time} / 1000 else {time} end",
    "VARCHAR": """case
        when {time} like '%:%' and (right({time}, 1) = 'Z' or substr({time}, -6, 1) in ('+', '-')
            or substr({time}, -5, 1) in ('+', '-') or substr({time}, -3, 1) in ('+', '-'))
            then epoch(try_cast({time} as timestamptz))
        when try_cast({time} as double) between 1e8 and 1e11 then try_cast({time} as double)
        when try_cast({time} as double) between 1e11 and 1e14 then try_cast({time} as double) / 1000
    end""",
}
WALL_CLOCK = {
    "TIMESTAMP": "epoch({time})",
    "DATE": "epoch({time})",
    "VARCHAR": "epoch(try_cast({time} as timestamp))",
}


def open_records(
    connection: duckdb.DuckDBPyConnection,
    files: list[Path],
    rejected: Counter[str],
    *,
    user: str,
    time: str,
    tower: str,
) -> duckdb.DuckDBPyRelation:
    """Records with columns record_user (integer or text), moment, wall_clock and record_tower (text); read once.

    rejected: counts what of the files is no record, by reason, while the records are read.
    """
    wanted = {"city.visit_user": user, "city.visit_time": time, "city.visit_tower": tower}
    parts = [_as_records(raw, files[0], user, time, tower) for raw in _read(connection, files, wanted, rejected)]
    return reduce(lambda one, other: one.union(other), parts)


def _as_records(raw: duckdb.DuckDBPyRelation, file: Path, user: str, time: str, tower: str) -> duckdb.DuckDBPyRelation:
    """Read as their types say, before columns of other types are put below them."""
    types = dict(zip(raw.columns, map(str, raw.types), strict=True))
    moment, wall_clock = time_expressions(time, types[time], file)
    return raw.project(
        f"{_user_expression(user, types[user], file)} as record_user, cast({moment} as double) as moment, "
        f"cast({wall_clock} as double) as wall_clock, {_tower_expression(tower, types[tower], file)} as record_tower"
    )


def no_records(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
    """The records of an empty week."""
    return connection.sql(
        "select ''::varchar as record_user, 0.0::double as moment, 0.0::double as wall_clock, "
        "''::varchar as record_tower where false"
    )


def _read(
    connection: duckdb.DuckDBPyConnection, files: list[Path], wanted: dict[str, str], rejected: Counter[str]
) -> list[duckdb.DuckDBPyRelation]:
    suffixes = {_suffix(file) for file in files}
    try:
        if suffixes <= {".parquet"}:
            return open_by_types(connection, files, wanted)
        if suffixes <= {".csv", ".csv.gz", ".txt", ".tsv"}:
            return [_read_csv(connection, files, wanted, rejected)]
    except STREAM_DAMAGE as error:
        raise BadInput(f"visit files must be readable, {files[0].name} gave {type(error).__name__}") from None
    kinds = ", ".join(sorted(suffixes))
    raise BadInput(f"visit files must all be .parquet or all .csv, got {kinds} (in {files[0]})")


def _read_csv(
    connection: duckdb.DuckDBPyConnection, files: list[Path], wanted: dict[str, str], rejected: Counter[str]
) -> duckdb.DuckDBPyRelation:
    """CSV without quoting rules: a line is a record, whatever the lines around it hold; outer quotes are taken off.

    A line with more or fewer fields than the first is a record of which nothing is known, not even the user.
    """
    header = _first_line(files[0])
    for file in files[1:]:
        if _first_line(file) != header:
            raise BadInput(f"visit files of a week must share their first line, {file.name} and {files[0].name} differ")
    delimiter = next((mark for mark in ",;\t|" if wanted["city.visit_user"] in _fields(header, mark)), ",")
    columns = _fields(header, delimiter)
    for key, column in wanted.items():
        if column not in columns:
            # The first line is not quoted here: without a header it would be somebody's record.
            raise BadInput(f"{files[0].name}: {key} must name a column of the file, {column!r} is not in line 1")
    schema = pa.schema({"line": pa.large_string()})
    stream = connection.from_arrow(pa.RecordBatchReader.from_batches(schema, _records(files, schema, rejected)))
    split = stream.project(f"string_split(line, {literal(delimiter)}) as field")
    whole = split.project(f"case when len(field) = {len(columns)} then field end as field")
    return whole.project(", ".join(f"{_unquoted(columns.index(name))} as {quoted(name)}" for name in wanted.values()))


def _records(files: list[Path], schema: pa.Schema, rejected: Counter[str]) -> Iterator[pa.RecordBatch]:
    """The lines of all files but the first of each, which names the columns; those that are no text are counted."""
    for file in files:
        first = 1
        for some in lines(file):
            records, first = some[first:], 0 if len(some) else first
            if records.null_count:
                rejected[UNREADABLE] += records.null_count
            yield pa.record_batch([records.drop_null()], schema)


def _suffix(file: Path) -> str:
    return "".join(file.suffixes[-2:]) if file.suffix == ".gz" else file.suffix


def _first_line(file: Path) -> str:
    with opened(file) as content:
        start = content.readline(FIRST_LINE_BYTES)  # bytes: text would be decoded far beyond the line
    line = re.split(rb"[\r\n]", start, maxsplit=1)[0]
    if not line or len(line) == FIRST_LINE_BYTES:
        found = "endless" if line else "empty"
        raise BadInput(f"a visit file must start with its column names, {file.name} is {found}")
    return line.decode("utf-8-sig", errors="replace")


def _fields(line: str, delimiter: str) -> list[str]:
    return [field.strip().removeprefix('"').removesuffix('"') for field in line.split(delimiter)]


def _unquoted(position: int) -> str:
    value = f"field[{position + 1}]"
    return (
        f"case when length({value}) > 1 and starts_with({value}, '\"') and ends_with({value}, '\"') "
        f"then substr({value}, 2, length({value}) - 2) else nullif({value}, '') end"
    )


def _user_expression(column: str, kind: str, file: Path) -> str:
    if kind in INTEGERS:
        return f"cast({quoted(column)} as bigint)"
    if kind not in ("VARCHAR", "UBIGINT", "HUGEINT", "UHUGEINT", "UUID"):
        raise BadInput(f"user identifiers must be integers or text, column {column!r} of {file} is {kind}")
    return f"cast({quoted(column)} as varchar)"


def _tower_expression(column: str, kind: str, file: Path) -> str:
    """As text; whole numbers that were stored as floats lose their point."""
    if kind in ("DOUBLE", "FLOAT"):
        return f"cast(try_cast({quoted(column)} as bigint) as varchar)"
    if kind not in (*INTEGERS, "VARCHAR", "UBIGINT", "UUID") and not kind.startswith("DECIMAL"):
        raise BadInput(f"towers must be numbers or text, column {column!r} of {file} is {kind}")
    return f"cast({quoted(column)} as varchar)"


def time_expressions(column: str, kind: str, file: Path) -> tuple[str, str]:
    """SQL for `moment` and `wall_clock` of a column: numbers are milliseconds from 1e11 on, else seconds of UTC."""
    kind = "TIMESTAMP" if kind.startswith("TIMESTAMP_") else kind
    kind = "NUMBER" if kind in (*INTEGERS, "DOUBLE", "UBIGINT") else kind
    if kind not in MOMENT.keys() | WALL_CLOCK.keys():
        raise BadInput(f"times must be timestamps, text or seconds since 1970, column {column!r} of {file} is {kind}")
    nothing = "cast(null as double)"
    time = quoted(column)
    return MOMENT.get(kind, nothing).format(time=time), WALL_CLOCK.get(kind, nothing).format(time=time)
