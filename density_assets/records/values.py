"""Values of records: those that nobody can read become null, and times become seconds.

The database stops at the first text that is no UTF-8 and at the first time that it cannot hold, and says which it was.
One person's odd record would stop everybody's week, and be quoted in the log of the run. Here such a value becomes null
instead: the record it belongs to is counted and left out, and those around it are read as if it were not there.

Times become `moment`, seconds of UTC, where the record says so, else `wall_clock`. Exactly one of the two is known of a
time that can be read. Numbers say by their size what they count: seconds up to 1e11, milliseconds up to 1e13,
microseconds from 1e14, nanoseconds from 1e17; 14 digits are a date and a time of day.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from density_assets.errors import BadInput
from density_assets.sql_names import literal, quoted

SAMPLE = 10_000  # records looked at
# What no column is called: a pseudonym, a time of day, a subscriber's number. It is a record, where there is no header.
RECORDED = re.compile(r"[0-9a-fA-F]{16,}$|.*(\d\d:\d\d|\d{9})")

Chooser = Callable[[Sequence[str]], Collection[str]]  # which of a file's columns may be looked at, by their names


@dataclass(frozen=True)
class Sample:
    """The first records of a file, by column.

    columns: every column and its type, in order. looked_at: how many records; fewer rows mean that some are none.
    compression, delimiter, encoding: of text, empty otherwise.
    written_as_utc: columns of times of the type in which Spark keeps UTC without saying so.
    """

    columns: tuple[tuple[str, str], ...]
    rows: Sequence[Mapping[str, Any]]
    looked_at: int
    compression: str = ""
    delimiter: str = ""
    encoding: str = ""
    written_as_utc: tuple[str, ...] = ()


FARTHEST = 10**11  # seconds from 1970, either way: the year 5138
FARTHEST_DAY = FARTHEST // 86_400
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}  # of a second
MOST = 2**63 - 1


def readable(column: pa.Array) -> pa.Array:
    """The same values, null where they are no text or no time; times are in microseconds."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string_view(column.type) or pa.types.is_null(column.type):  # null: of a file where nobody has any
        column = column.cast(pa.string())
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return utf8(column)
    if pa.types.is_time(column.type):
        return _times_of_day(column)
    if pa.types.is_date32(column.type):
        return _calendar_days(column)
    return _moments(column) if pa.types.is_timestamp(column.type) else column


def readable_type(kind: pa.DataType) -> pa.DataType:
    """The type of `readable` values of a type."""
    return readable(pa.array([], kind)).type


def utf8(column: pa.Array) -> pa.Array:
    """Text as it is, null where it is no UTF-8: Arrow itself does not look."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        raw = column.cast(pa.large_binary()).to_pylist()
        return pa.array(map(_decoded, raw), column.type)
    return column


def _decoded(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def _calendar_days(column: pa.Array) -> pa.Array:
    """The last day that Arrow can hold is the database's infinity."""
    number = column.cast(pa.int32())
    near = pc.and_(pc.greater(number, -FARTHEST_DAY), pc.less(number, FARTHEST_DAY))
    return pc.if_else(near, number, pa.scalar(None, pa.int32())).cast(column.type)


def _moments(column: pa.Array) -> pa.Array:
    unit, zone = column.type.unit, "UTC" if column.type.tz else None
    number, limit = column.cast(pa.int64()), min(FARTHEST * UNITS[unit], MOST)
    near = pc.and_(pc.greater(number, -limit), pc.less(number, limit))
    known = pc.if_else(near, number, pa.scalar(None, pa.int64()))
    return known.cast(pa.timestamp(unit)).cast(pa.timestamp("us"), safe=False).cast(pa.timestamp("us", zone))


def _times_of_day(column: pa.Array) -> pa.Array:
    unit, bits = column.type.unit, pa.int32() if pa.types.is_time32(column.type) else pa.int64()
    number = column.cast(bits)
    known = pc.and_(pc.greater_equal(number, 0), pc.less(number, 86_400 * UNITS[unit]))
    return pc.if_else(known, number, pa.scalar(None, bits)).cast(column.type).cast(pa.time64("us"), safe=False)


INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
NUMBERS = (*INTEGERS, "DOUBLE", "UBIGINT")
SECONDS = """case
        when {number} < 1e11 then {number}
        when {number} < 1e13 then {number} / 1e3
        when {number} < 1e14 then null
        when {number} < 1e17 then {number} / 1e6
        else {number} / 1e9
    end"""
NUMBER_IN_TEXT = "try_cast({time} as double)"

# Seconds of UTC where the record says so, else the wall clock as seconds; exactly one of the two is set.
MOMENT = {
    "TIMESTAMP WITH TIME ZONE": "epoch({time})",
    "NUMBER": SECONDS.format(number="{time}"),
    "VARCHAR": """case
        when {time} like '%:%' and (right({time}, 1) = 'Z' or substr({time}, -6, 1) in ('+', '-')
            or substr({time}, -5, 1) in ('+', '-') or substr({time}, -3, 1) in ('+', '-'))
            then epoch(try_cast({time} as timestamptz))
        when NUMBER between 1e8 and 1e20 then SECONDS
    end""".replace("SECONDS", SECONDS.format(number=NUMBER_IN_TEXT)).replace("NUMBER", NUMBER_IN_TEXT),
}
WALL_CLOCK = {
    "TIMESTAMP": "epoch({time})",
    "DATE": "epoch({time})",
    "NUMBER": """case when {time} >= 1e13 and {time} < 1e14
        then epoch(try_strptime(cast(try_cast(floor({time}) as bigint) as varchar), '%Y%m%d%H%M%S')) end""",
    "VARCHAR": "epoch(try_cast({time} as timestamp))",
}

# Text as ISO 8601 writes it: a decimal point, and marks in `20070910081500`, `20070910T0815` and `081500`.
PLAIN = "replace(trim({text}), ',', '.')"
STAMP = r"^(\d{4})(\d\d)(\d\d)[ T]?(\d\d):?(\d\d):?(\d\d)($|[^0-9].*$)"
DAY = r"^(\d{4})(\d\d)(\d\d)$"
HOURS = r"^(\d\d)(\d\d)(\d\d)($|[^0-9].*$)"


def time_expressions(column: str, kind: str, named: str, file: Path) -> tuple[str, str]:
    """SQL for `moment` and `wall_clock` of a column.

    named: what the column is called in the file.
    """
    time, nothing = quoted(column), "cast(null as double)"
    if kind.startswith("DECIMAL"):
        time, kind = f"cast({time} as double)", "NUMBER"
    kind = "TIMESTAMP" if kind.startswith("TIMESTAMP_") else kind
    kind = "NUMBER" if kind in NUMBERS else kind
    if kind not in MOMENT.keys() | WALL_CLOCK.keys():
        raise BadInput(f"times must be timestamps, text or seconds since 1970, column {named!r} of {file} is {kind}")
    return MOMENT.get(kind, nothing).format(time=time), WALL_CLOCK.get(kind, nothing).format(time=time)


def stamp_text(column: str) -> str:
    """SQL for the text of a column that holds date and time."""
    text = PLAIN.format(text=quoted(column))
    marked = rf"regexp_replace({text}, '{STAMP}', '\1-\2-\3 \4:\5:\6\7')"
    return f"case when substr({text}, 5, 1) between '0' and '9' then {marked} else {text} end"


def joined_text(date: tuple[str, str], time: tuple[str, str], file: Path) -> str:
    """SQL for the text of a date and a time of day that stand in two columns, each given with its type.

    Digits alone are year, month and day, and hour, minute and second; of a number, zeros before them are put back. Text
    of four digits is not read: it may be hour and minute, or have lost its zeros.
    """
    return f"{_day_text(*date, file)} || ' ' || {_hour_text(*time, file)}"


def formatted(text: str, pattern: str) -> str:
    """SQL for the wall clock of a text that is written after a pattern of strptime."""
    return f"epoch(try_strptime({text}, {literal(pattern)}))"


YEAR_LAST = re.compile(
    r"\d\d?(?P<mark>[./-])\d\d?(?P=mark)(?P<year>\d{4}|(?<!-)\d\d) "
    r"\d\d?(?P<minutes>:\d\d)?(?P<seconds>:\d\d)?(?P<half> [AaPp][Mm])?"
)


def year_last(written: Sequence[str]) -> str | None:
    """The pattern of strptime of times such as `04.03.2024 08:15:00`, if most are written so, with the day first.

    So of `04.03.24`, but not of `24-03-04`, where the year would rather come first. That of one among others would tell
    of that one.
    """
    known = [text.strip() for text in written if text.strip()]
    found = (YEAR_LAST.fullmatch(text) for text in known)
    patterns = Counter(_pattern_of(**match.groupdict()) for match in found if match)
    return next((pattern for pattern, times in patterns.items() if 2 * times > len(known)), None)


def _pattern_of(mark: str, year: str, minutes: str | None, seconds: str | None, half: str | None) -> str:
    rest = f"{':%M' if minutes else ''}{':%S' if seconds else ''}"
    return f"%d{mark}%m{mark}{'%Y' if len(year) == 4 else '%y'} {f'%I{rest} %p' if half else f'%H{rest}'}"


def raw_text(*columns: str) -> str:
    """SQL for columns as text, with blanks between them."""
    return " || ' ' || ".join(f"trim(cast({quoted(column)} as varchar))" for column in columns)


def _day_text(column: str, kind: str, file: Path) -> str:
    name = quoted(column)
    if kind == "DATE" or kind.startswith("TIMESTAMP"):
        # Others have names that are no dates, or none.
        return f"case when year({name}) between 1 and 9999 then strftime({name}, '%Y-%m-%d') end"
    if kind not in ("VARCHAR", *INTEGERS):
        raise BadInput(f"dates must be dates, text or numbers such as 20070910, column {column!r} of {file} is {kind}")
    return rf"regexp_replace(trim(cast({name} as varchar)), '{DAY}', '\1-\2-\3')"


def _hour_text(column: str, kind: str, file: Path) -> str:
    if kind not in ("VARCHAR", "TIME", *NUMBERS):
        raise BadInput(
            f"times of day must be times, text or numbers such as 81500, column {column!r} of {file} is {kind}"
        )
    text = PLAIN.format(text=f"cast({quoted(column)} as varchar)")
    digits = rf"length(regexp_extract({text}, '^\d*'))"
    shortest = 5 if kind == "VARCHAR" else 1
    lost = f"{text} not like '%:%' and {digits} between {shortest} and 5"
    return rf"regexp_replace(if({lost}, repeat('0', 6 - {digits}), '') || {text}, '{HOURS}', '\1:\2:\3\4')"
