"""Records of real people: a week's files, read as (user, time, tower).

A record is one event of one device at one antenna. Nothing is filtered here; `events.sql` decides what can be used.
How a record is read never depends on another record: column types come from the files' schema (CSV is text), the
dialect of a CSV from its first line, and every line stands for itself. Were any of it guessed from content, one
person's odd record could change how everybody else's are read; could a record stop the run, everybody would see it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from density_assets.errors import BadInput
from density_assets.geography.lists import TO_UTF8
from density_assets.records.formats import named_if_damaged, open_files
from density_assets.records.values import (
    INTEGERS,
    NUMBERS,
    formatted,
    joined_text,
    raw_text,
    stamp_text,
    time_expressions,
)
from density_assets.settings.city import CitySettings
from density_assets.sql_names import literal, quoted


@contextmanager
def private_database() -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a database in memory that leaves nothing behind.

    What does not fit memory goes where only its owner can read. Left to itself, the database would spill into the
    folder one happens to be in.
    """
    with TemporaryDirectory() as spill, duckdb.connect(config={"temp_directory": spill}) as connection:
        yield connection


COLUMNS = ("visit_user", "visit_date", "visit_time", "visit_tower")  # settings that name columns
EXACT = 2**53  # below it no two whole numbers are one floating point number
BLANKS = " \t\u00a0"
# What text of a record is a number or a truth value, for all engines: casts of databases agree on no more than this.
NUMBER = r"^[ \t\n\f\r\x0b]*[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?[ \t\n\f\r\x0b]*\z"
WORDS = {True: ("true", "t", "yes", "y", "1"), False: ("false", "f", "no", "n", "0")}

Types = Mapping[str, str]  # of columns, as the database names them


def named_columns(city: CitySettings) -> dict[str, str]:
    """Names of the columns that are read, by what settings call them."""
    named = {f"city.{setting}": getattr(city, setting) for setting in COLUMNS}
    filters = {f"city.visit_where.{column}": column for column in city.visit_where}
    return {setting: name for setting, name in {**named, **filters}.items() if name is not None}


def open_records(
    connection: duckdb.DuckDBPyConnection, files: list[Path], rejected: Counter[str], city: CitySettings
) -> duckdb.DuckDBPyRelation:
    """Records with columns record_user (integer or text), moment, wall_clock, record_tower (text), wanted; read once.

    rejected: counts what of the files is no record, by reason, while the records are read.
    """
    with named_if_damaged(files):
        parts = [
            _as_records(raw, files[0], city) for raw in open_files(connection, files, named_columns(city), rejected)
        ]
    return reduce(lambda one, other: one.union(other), parts)


def _as_records(raw: duckdb.DuckDBPyRelation, file: Path, city: CitySettings) -> duckdb.DuckDBPyRelation:
    """Read as their types say, before columns of other types are put below them."""
    types = dict(zip(raw.columns, map(str, raw.types), strict=True))
    user = _user_expression(city.visit_user, types[city.visit_user], file, city.user_form)
    tower = _tower_expression(city.visit_tower, types[city.visit_tower], file)
    wanted = " and ".join(_is(column, types[column], value) for column, value in city.visit_where.items()) or "true"
    timed = raw.project(
        f"{user} as record_user, {_time(types, file, city)} as t, {tower} as record_tower, {wanted} as wanted"
    )
    moment, wall_clock = _seconds(str(timed.types[1]), file, city)
    return timed.project(
        f"record_user, cast({moment} as double) as moment, cast({wall_clock} as double) as wall_clock, record_tower, "
        "coalesce(wanted, false) as wanted"
    )


def _time(types: Types, file: Path, city: CitySettings) -> str:
    """SQL for the time: as it is, as text in ISO 8601, or as text after the pattern of the settings."""
    time, date = city.visit_time, city.visit_date
    if city.visit_time_format:
        return raw_text(time) if date is None else raw_text(date, time)
    if date is not None:
        return joined_text((date, types[date]), (time, types[time]), file)
    return stamp_text(time) if types[time] == "VARCHAR" else quoted(time)


def _seconds(kind: str, file: Path, city: CitySettings) -> tuple[str, str]:
    if city.visit_time_format:
        return "null", formatted("t", city.visit_time_format)
    return time_expressions("t", kind, city.visit_time, file)


def _is(column: str, kind: str, value: str | float | bool) -> str:
    """SQL for whether a column holds a value; text is compared as it is, numbers and truth by what they are."""
    numbers = kind in (*NUMBERS, "FLOAT", "HUGEINT", "BOOLEAN") or kind.startswith("DECIMAL")
    if kind != "VARCHAR" and (isinstance(value, str) or not numbers):
        raise not_comparable(column, kind, value)
    name = quoted(column)
    if isinstance(value, str):
        return f"{name} = {literal(value)}"
    if kind == "VARCHAR" and isinstance(value, bool):
        return says(name, value=value)
    number = f"case when regexp_matches({name}, {literal(NUMBER)}) then {name} end" if kind == "VARCHAR" else name
    kind = "boolean" if isinstance(value, bool) else "double"
    return f"try_cast({number} as {kind}) = {literal(str(value))}::{kind}"


def says(text: str, *, value: bool) -> str:
    """SQL of any engine for whether a text is a word for a truth value."""
    return f"lower({text}) in ({', '.join(map(literal, WORDS[value]))})"


def not_comparable(column: str, kind: str, value: object) -> BadInput:
    """The error for a filter that no record could pass."""
    return BadInput(
        f"city.visit_where must compare text with 'text', numbers and truth values with 0 or true: column {column!r} "
        f"is {kind}, its value is {value!r}"
    )


def no_records(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
    """The records of an empty week."""
    return connection.sql(
        "select ''::varchar as record_user, 0.0::double as moment, 0.0::double as wall_clock, "
        "''::varchar as record_tower, true as wanted where false"
    )


def _user_expression(column: str, kind: str, file: Path, form: str) -> str:
    """Bytes as their hexadecimal digits; text in the form of the settings; whole numbers with a point as digits."""
    if kind in INTEGERS:
        return f"cast({quoted(column)} as bigint)"
    if kind == "BLOB" and form != "digits only":
        return f"hex({quoted(column)})"
    if kind not in ("VARCHAR", "UBIGINT", "HUGEINT", "UHUGEINT", "UUID", "DOUBLE") and not kind.startswith("DECIMAL"):
        raise no_identifier(column, kind, file, bytes_=kind == "BLOB", float_=kind == "FLOAT")
    text = f"cast({_whole(quoted(column), kind)} as varchar)"
    return {
        "as is": text,
        "trimmed": f"trim({text}, {literal(BLANKS)})",
        "digits only": f"regexp_replace({text}, '[^0-9]', '', 'g')",
    }[form]


def no_identifier(column: str, kind: str, file: object, *, bytes_: bool, float_: bool) -> BadInput:
    """The error for a column that cannot tell people apart."""
    more = ", or bytes as they are" if bytes_ else ""
    why = ", which keeps seven digits, so that many people are one: export it as text or integers" if float_ else ""
    return BadInput(f"user identifiers must be integers or text{more}, column {column!r} of {file} is {kind}{why}")


def _whole(name: str, kind: str) -> str:
    """SQL for a number that tables keep with a point for want of another type, null if it may stand for several."""
    if kind == "DOUBLE":
        return f"case when {name} = trunc({name}) and abs({name}) < {EXACT} then cast({name} as bigint) end"
    if kind.startswith("DECIMAL"):
        return f"case when {name} = trunc({name}) then cast({name} as hugeint) end"
    return name


def _tower_expression(column: str, kind: str, file: Path) -> str:
    """As text; whole numbers that were stored as floats lose their point."""
    if kind in ("DOUBLE", "FLOAT"):
        return f"cast(try_cast({quoted(column)} as bigint) as varchar)"
    if kind not in (*INTEGERS, "VARCHAR", "UBIGINT", "UUID") and not kind.startswith("DECIMAL"):
        raise BadInput(f"towers must be numbers or text, column {column!r} of {file} is {kind}")
    return f"cast({quoted(column)} as varchar)"


USABLE, LEFT_OUT = "usable", "left out by visit_where"
# What to look at, by the reason that records are not used.
SETTINGS = {
    "no user": "city.visit_user",
    "time not readable": "city.visit_time, city.visit_date and city.visit_time_format",
    "hour that does not exist": "city.visit_timezone",
    "outside the week": "city.visit_time, city.visit_timezone, city.timezone and the files of the week",
    "unknown tower": "city.visit_tower and city.tower_id, which must spell antennas alike, with blanks and zeros",
    "tower outside the city": "city.cells and city.tower_crs",
    "line not readable": f"the files, which must be UTF-8: {TO_UTF8}",
}


def mostly_unusable(records: Mapping[str, int]) -> str:
    """Return what to look at if most records of a week cannot be used, or there are none; else nothing.

    The answer depends on records. It is for whoever may read them, and stops no release: that it was stopped would tell
    everybody. A release of records that cannot be used is noise, and is paid for all the same.

    records: how many are usable, and how many are not by reason.
    """
    asked = {why: n for why, n in records.items() if why != LEFT_OUT}
    total, usable = sum(asked.values()), asked.get(USABLE, 0)
    if not total and records.get(LEFT_OUT):
        return f"some records must be wanted, {records[LEFT_OUT]:,} of them are {LEFT_OUT}: look at city.visit_where"
    if not total:
        return "there must be records to release, found none: look at city.visits"
    if 2 * usable >= total:
        return ""
    reason, count = max(((why, n) for why, n in asked.items() if why != USABLE), key=lambda item: item[1])
    return (
        f"most records must be usable, {usable:,} of {total:,} are ({count:,} {reason}): look at "
        f"{SETTINGS.get(reason, 'the files')}. A release of them would be noise, and would be charged"
    )
