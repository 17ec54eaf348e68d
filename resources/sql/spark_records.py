"""Records of real people as Spark reads them: the columns of Parquet files as (user, time, tower).

The same records as `density_assets.records.event_files` gives, value by value. Types come from the files alone. Times
are read as the numbers they are stored as, and turned into seconds here: Spark would stop at the first that it cannot
hold, and one person's odd record would stop everybody's week.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from density_assets.damage import ARROW_DAMAGE
from density_assets.errors import BadInput
from density_assets.records.event_files import (
    BLANKS,
    EXACT,
    NUMBER,
    named_columns,
    no_identifier,
    not_comparable,
    says,
)
from density_assets.records.files import store_of
from density_assets.records.formats import ON_SPARK, format_of
from density_assets.records.values import FARTHEST, FARTHEST_DAY, MOST, SECONDS, UNITS
from density_assets.settings.city import CitySettings
from density_assets.settings.values import is_url
from density_assets.sql_names import backquoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WILDCARDS = "*?[]{}\\"
NOTHING = "cast(null as double)"


@dataclass(frozen=True)
class Column:
    """A column of Parquet files: how Spark is to read it, and its type as Arrow names it."""

    name: str
    stored: str
    kind: pa.DataType


Columns = tuple[Column, ...]


def open_records(session: "SparkSession", files: Sequence[str], city: CitySettings) -> "DataFrame":
    """Records with columns record_user (integer or text), moment, wall_clock, record_tower (text) and wanted."""
    for setting in ("visit_date", "visit_time_format"):
        if getattr(city, setting) is not None:
            raise BadInput(
                f"on Spark times must be timestamps or seconds since 1970, city.{setting} is for text: convert it, or "
                "use DuckDB"
            )
    by_columns: dict[Columns, list[str]] = {}
    for file in files:
        by_columns.setdefault(_columns(file, named_columns(city)), []).append(file)
    users = [_of(columns, city.visit_user).kind for columns in by_columns]
    textual = not all(pa.types.is_integer(kind) and not pa.types.is_uint64(kind) for kind in users)
    parts = [_records(session, same, columns, city, textual=textual) for columns, same in by_columns.items()]
    return reduce(lambda one, other: one.union(other), parts)


def _of(columns: Columns, name: str) -> Column:
    return next(column for column in columns if column.name == name)


def no_records(session: "SparkSession") -> "DataFrame":
    """The records of an empty week."""
    return session.sql(
        f"select '' as record_user, {NOTHING} as moment, {NOTHING} as wall_clock, '' as record_tower, true as wanted "
        "where false"
    )


def _records(
    session: "SparkSession", files: list[str], columns: Columns, city: CitySettings, *, textual: bool
) -> "DataFrame":
    user, time, tower = (_of(columns, name) for name in (city.visit_user, city.visit_time, city.visit_tower))
    wanted = " and ".join(_is(_of(columns, column), value) for column, value in city.visit_where.items()) or "true"
    distinct = {column.name: f"{backquoted(column.name)} {column.stored}" for column in columns}
    raw = session.read.schema(", ".join(distinct.values())).parquet(*map(hadoop_path, files))
    for column in columns:
        if pa.types.is_null(column.kind):
            raw = raw.withColumn(column.name, raw[backquoted(column.name)].cast("string"))
    moment, wall_clock = _time(time)
    return raw.selectExpr(
        f"{_user(user, city.user_form, textual=textual)} as record_user",
        f"{moment} as moment",
        f"{wall_clock} as wall_clock",
        f"{_tower(tower)} as record_tower",
        f"coalesce({wanted}, false) as wanted",
    )


def hadoop_path(name: str) -> str:
    """A path or URL as Spark names it."""
    if set(name) & set(WILDCARDS):
        raise BadInput(
            f"on Spark names of files must hold none of {WILDCARDS}, which it takes for patterns, got {name!r}"
        )
    if not is_url(name):
        return f"file://{name}"
    return name.replace("s3://", "s3a://", 1) if name.startswith("s3://") else name


def _columns(file: str, wanted: Mapping[str, str]) -> Columns:
    system, inside = store_of(file)
    shown = inside.rsplit("/", 1)[-1]
    if not format_of(Path(shown)).on_spark:
        raise BadInput(f"on Spark visit files must be {ON_SPARK}, got {shown}: convert it, or use DuckDB")
    try:
        with system.open(inside, "rb") as content, pq.ParquetFile(content) as parquet:
            arrow, stored = parquet.schema_arrow, parquet.schema
            physical = {stored.column(at).path: stored.column(at).physical_type for at in range(len(stored))}
    except ARROW_DAMAGE as error:
        raise BadInput(f"visit files must be readable, {shown} gave {type(error).__name__}") from None
    for setting, name in wanted.items():
        if arrow.names.count(name) != 1:
            # Its columns are not named: of a table that was made without a header they are somebody's record.
            found = "none" if name not in arrow.names else "several"
            raise BadInput(f"{shown}: {setting} must name one column of the file, {found} of its columns is {name!r}")
    names = dict.fromkeys(wanted.values())
    return tuple(_column(name, arrow.field(name).type, physical.get(name, "")) for name in names)


def _column(name: str, kind: pa.DataType, physical: str) -> Column:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if physical == "INT96":
        raise BadInput(
            f"on Spark times must not be stored as INT96, column {name!r} is: Spark takes some that are no times for "
            "times of the week, or stops at them. Write them as timestamps (outputTimestampType), or use DuckDB"
        )
    for known, stored in (
        (pa.types.is_timestamp, "bigint"),
        (pa.types.is_date32, "int"),
        (pa.types.is_uint64, "decimal(20, 0)"),
        (pa.types.is_uint32, "bigint"),
        (pa.types.is_integer, "bigint" if physical == "INT64" else "int"),
        (pa.types.is_float32, "float"),
        (pa.types.is_float64, "double"),
        (pa.types.is_decimal, f"decimal({getattr(kind, 'precision', 1)}, {getattr(kind, 'scale', 0)})"),
        (pa.types.is_boolean, "boolean"),
        (pa.types.is_null, "int"),  # stored as numbers, of which there are none
        (_is_text, "string"),
        (_is_bytes, "binary"),
    ):
        if known(kind):
            return Column(name, stored, kind)
    raise BadInput(f"visit files must hold numbers, times and text, column {name!r} is {kind}")


def _is_text(kind: pa.DataType) -> bool:
    text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
    return any(known(kind) for known in text)


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))


def _is(column: Column, value: str | float | bool) -> str:
    """SQL for whether a column holds a value, as `event_files` has it."""
    if (
        _is_bytes(column.kind)
        or pa.types.is_temporal(column.kind)
        or (isinstance(value, str) and not _is_text(column.kind))
    ):
        raise not_comparable(column.name, str(column.kind), value)
    text = _text(column)
    if isinstance(value, str):
        return f"{text} = {_literal(value)}"
    if _is_text(column.kind) and isinstance(value, bool):
        return says(text, value=value)
    # What is no text is not made one first: 'true' would be no number, and '1.0' no truth value.
    number = f"case when {text} rlike {_literal(NUMBER)} then {text} end" if _is_text(column.kind) else None
    kind = "boolean" if isinstance(value, bool) else "double"
    return f"try_cast({number or backquoted(column.name)} as {kind}) = cast('{value}' as {kind})"


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _text(column: Column) -> str:
    """Text, null where it is no UTF-8."""
    name = backquoted(column.name)
    return f"case when is_valid_utf8({name}) then {name} end" if _is_text(column.kind) else f"cast({name} as string)"


def _user(column: Column, form: str, *, textual: bool) -> str:
    if _is_bytes(column.kind) and form != "digits only":
        return f"hex({backquoted(column.name)})"
    if pa.types.is_integer(column.kind):
        return _text(column) if textual else f"cast({backquoted(column.name)} as bigint)"
    if not (_is_text(column.kind) or pa.types.is_float64(column.kind) or pa.types.is_decimal(column.kind)):
        bytes_, float_ = _is_bytes(column.kind), pa.types.is_float32(column.kind)
        raise no_identifier(column.name, str(column.kind), "a file", bytes_=bytes_, float_=float_)
    text = _text(column) if _is_text(column.kind) else f"cast({_whole(column)} as string)"
    return {
        "as is": text,
        "trimmed": f"trim(both '{BLANKS}' from {text})",
        "digits only": f"regexp_replace({text}, '[^0-9]', '')",
    }[form]


def _whole(column: Column) -> str:
    """SQL for a whole number, as `event_files` has it."""
    name = backquoted(column.name)
    if pa.types.is_float64(column.kind):
        return f"case when {name} = rint({name}) and abs({name}) < {EXACT} then cast({name} as bigint) end"
    return f"case when {name} = floor({name}) then cast({name} as decimal(38, 0)) end"


def _tower(column: Column) -> str:
    """As text; whole numbers that were stored as floats lose their point."""
    if pa.types.is_floating(column.kind):
        return f"cast(try_cast(rint({backquoted(column.name)}) as bigint) as string)"
    if not (_is_text(column.kind) or pa.types.is_integer(column.kind) or pa.types.is_decimal(column.kind)):
        raise BadInput(f"towers must be numbers or text, column {column.name!r} is {column.kind}")
    return _text(column)


def _time(column: Column) -> tuple[str, str]:
    """SQL for `moment` (seconds of UTC) and `wall_clock` (seconds of the city's clocks), of which one is known."""
    name, kind = backquoted(column.name), column.kind
    if pa.types.is_date32(kind):
        return NOTHING, f"case when {name} > {-FARTHEST_DAY} and {name} < {FARTHEST_DAY} then {name} * 86400.0D end"
    if pa.types.is_timestamp(kind):
        seconds = f"({_microseconds(name, column)}) / 1000000"
        return (seconds, NOTHING) if kind.tz else (NOTHING, seconds)
    if pa.types.is_null(kind):
        return NOTHING, NOTHING
    if pa.types.is_integer(kind) or pa.types.is_float64(kind) or pa.types.is_decimal(kind):
        return SECONDS.format(number=f"cast({name} as double)"), _fourteen_digits(f"cast({name} as double)")
    raise BadInput(
        f"on Spark times must be timestamps or seconds since 1970, column {column.name!r} is {kind}: convert it, or "
        "use DuckDB, which reads text as well"
    )


def _fourteen_digits(number: str) -> str:
    """Seconds on the wall clock of a number such as 20070910081500."""
    digits = f"cast(try_cast(floor({number}) as bigint) as string)"
    day = f"concat_ws('-', substr({digits}, 1, 4), substr({digits}, 5, 2), substr({digits}, 7, 2))"
    hour, minute, second = (f"cast(substr({digits}, {at}, 2) as int)" for at in (9, 11, 13))
    known = f"{hour} < 24 and {minute} < 60 and {second} < 60"
    seconds = f"unix_date(try_cast({day} as date)) * 86400.0D + {hour} * 3600 + {minute} * 60 + {second}"
    return f"case when {number} >= 1e13 and {number} < 1e14 then case when {known} then {seconds} end end"


def _microseconds(name: str, column: Column) -> str:
    unit = UNITS[column.kind.unit]
    limit = min(FARTHEST * unit, MOST)
    micros = f"{name} * {UNITS['us'] // unit}" if unit <= UNITS["us"] else f"{name} div {unit // UNITS['us']}"
    return f"case when {name} > {-limit} and {name} < {limit} then {micros} end"
