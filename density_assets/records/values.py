"""Values of records that nobody can read, made null before the database sees them.

The database stops at the first text that is no UTF-8 and at the first time that it cannot hold, and says which it was.
One person's odd record would stop everybody's week, and be quoted in the log of the run. Here such a value becomes null
instead: the record it belongs to is counted and left out, and those around it are read as if it were not there.
"""

import pyarrow as pa
import pyarrow.compute as pc

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
        return _days(column)
    return _times(column) if pa.types.is_timestamp(column.type) else column


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


def _days(column: pa.Array) -> pa.Array:
    """The last day that Arrow can hold is the database's infinity."""
    number = column.cast(pa.int32())
    near = pc.and_(pc.greater(number, -FARTHEST_DAY), pc.less(number, FARTHEST_DAY))
    return pc.if_else(near, number, pa.scalar(None, pa.int32())).cast(column.type)


def _times(column: pa.Array) -> pa.Array:
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
