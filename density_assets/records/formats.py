"""Formats of records: of each how its files are told, read, sampled, and looked through for damage.

A format is a value of `RecordFormat` in `FORMATS`; nothing else in the software asks how a file's name ends. Columns of
Parquet files are streams that no value can stop: what cannot be read is null (`values.py`).
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from density_assets.damage import STREAM_DAMAGE
from density_assets.errors import BadInput, some
from density_assets.records.csv_files import open_csv, read_csv, sample_csv, text_ending
from density_assets.records.values import RECORDED, SAMPLE, Chooser, Sample, readable, readable_type

ROWS = 8_192  # at a time
BUFFER = 1 << 20  # bytes of a column that are read at once: a row group may be larger than memory
READING = {"pre_buffer": False, "buffer_size": BUFFER, "coerce_int96_timestamp_unit": "ms"}

ArrowTypes = tuple[pa.DataType, ...]


def open_columns(
    connection: duckdb.DuckDBPyConnection, files: Sequence[Path], columns: Mapping[str, str]
) -> duckdb.DuckDBPyRelation:
    """The columns of all files, of types that one table can have; it can be read once."""
    return reduce(lambda one, other: one.union(other), open_by_types(connection, files, columns))


def open_by_types(
    connection: duckdb.DuckDBPyConnection, files: Sequence[Path], columns: Mapping[str, str]
) -> list[duckdb.DuckDBPyRelation]:
    """The columns of all files, those of the same types together; each can be read once.

    columns: names of columns, by what settings call them.
    """
    by_types: dict[ArrowTypes, list[Path]] = {}
    for file in files:
        by_types.setdefault(_types(file, columns), []).append(file)
    names = list(dict.fromkeys(columns.values()))
    return [connection.from_arrow(_stream(same, names, types)) for types, same in by_types.items()]


def column_names(file: Path) -> list[str]:
    """What the columns of a file are called."""
    return list(pq.read_schema(file).names)


def _types(file: Path, columns: Mapping[str, str]) -> ArrowTypes:
    schema = pq.ParquetFile(file, **READING).schema_arrow
    for setting, name in columns.items():
        if name not in schema.names:
            # Its columns are not named: of a table that was made without a header they are somebody's record.
            raise BadInput(f"{file.name}: {setting} must name a column of the file, {name!r} is none of its columns")
        if schema.names.count(name) > 1:
            raise BadInput(f"{file.name}: {setting} must name one column of the file, several are called {name!r}")
    return tuple(schema.field(name).type for name in dict.fromkeys(columns.values()))


def _stream(files: list[Path], names: list[str], types: ArrowTypes) -> pa.RecordBatchReader:
    schema = pa.schema(zip(names, map(readable_type, types), strict=True))
    return pa.RecordBatchReader.from_batches(schema, _batches(files, names, schema))


def _batches(files: list[Path], names: list[str], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for file in files:
        with pq.ParquetFile(file, **READING) as opened:
            for batch in opened.iter_batches(ROWS, columns=names, use_threads=False):
                yield pa.record_batch([readable(batch.column(name)) for name in names], schema)


def _sample_parquet(file: Path, _: Collection[str], chosen: Chooser) -> Sample:
    with pq.ParquetFile(file, **READING) as parquet:
        schema, stored = parquet.schema_arrow, parquet.schema
        if any(map(RECORDED.match, schema.names)):
            raise BadInput(f"{file.name}: columns must have names, theirs look like a record: write it with a header")
        told = chosen(schema.names)
        columns: list[list[Any]] = [[] for _ in schema.names]  # by position: names may be alike
        for batch in islice(parquet.iter_batches(ROWS, use_threads=False), -(-SAMPLE // ROWS)):
            for values, column, name in zip(columns, batch.columns, schema.names, strict=True):
                values += _sampled_values(column, told=name in told)
        rows = [dict(zip(schema.names, values, strict=True)) for values in zip(*columns, strict=True)][:SAMPLE]
        kinds = ((stored.column(at).path, stored.column(at).physical_type) for at in range(len(stored)))
        return Sample(
            columns=tuple((field.name, str(field.type)) for field in schema),
            rows=rows,
            looked_at=len(rows),
            written_as_utc=tuple(name for name, kind in kinds if kind == "INT96"),
        )


def _sampled_values(column: pa.Array, *, told: bool) -> list[Any]:
    """Return values that can be read; times as Arrow writes them, because Python's calendar ends earlier."""
    if not told or pa.types.is_nested(column.type):
        return [None if value is None else "…" for value in column.is_valid().to_pylist()]
    values = readable(column)
    return list(values.cast(pa.string()).to_pylist() if pa.types.is_temporal(values.type) else values.to_pylist())


def _read_parquet(file: Path) -> None:
    with pq.ParquetFile(file, **READING) as parquet:
        for _ in parquet.iter_batches(ROWS, use_threads=False):
            pass


@dataclass(frozen=True)
class RecordFormat:
    """One kind of files that records are read from.

    name: as `check` prints it. endings: of the names of its files, for messages.
    claims: whether a file is of this kind, by its name.
    open: the wanted columns of files, those of the same types together; each can be read once.
    sample: the first records of a file. read: reads a file to its end, and raises what a damaged one raises.
    on_spark: whether Spark reads it as well.
    """

    name: str
    endings: str
    claims: Callable[[Path], bool]
    open: Callable[
        [duckdb.DuckDBPyConnection, Sequence[Path], Mapping[str, str], Counter[str]], list[duckdb.DuckDBPyRelation]
    ]
    sample: Callable[[Path, Collection[str], Chooser], Sample]
    read: Callable[[Path], None]
    on_spark: bool = False


FORMATS = (
    RecordFormat(
        name="parquet",
        endings=".parquet",
        claims=lambda file: file.suffix.lower() == ".parquet",
        open=lambda connection, files, wanted, _: open_by_types(connection, files, wanted),
        sample=_sample_parquet,
        read=_read_parquet,
        on_spark=True,
    ),
    RecordFormat(
        name="csv",
        endings=".csv, .txt or .tsv (also .gz and .zst)",
        claims=lambda file: bool(text_ending(file)),
        open=open_csv,
        sample=sample_csv,
        read=read_csv,
    ),
)

ON_SPARK = " or ".join(kind.endings for kind in FORMATS if kind.on_spark)


def format_of(file: Path) -> RecordFormat:
    """Return the format of a file, by its name; refuse a file of none."""
    kind = next((kind for kind in FORMATS if kind.claims(file)), None)
    if kind is None:
        endings = " or ".join(kind.endings for kind in FORMATS)
        raise BadInput(f"visit files must be {endings}, got {file.name}: unpack or convert it")
    return kind


def open_files(
    connection: duckdb.DuckDBPyConnection, files: Sequence[Path], wanted: Mapping[str, str], rejected: Counter[str]
) -> list[duckdb.DuckDBPyRelation]:
    """Return the wanted columns of all files, those of the same types together; each can be read once.

    rejected: counts what of the files is no record, by reason, while they are read.
    """
    kinds = {format_of(file) for file in files}
    if len(kinds) > 1:
        raise BadInput(
            f"visit files must all be of one format, got {' and '.join(sorted(kind.name for kind in kinds))} "
            f"(in {files[0]})"
        )
    return kinds.pop().open(connection, files, wanted, rejected)


@contextmanager
def named_if_damaged(files: Sequence[Path]) -> Iterator[None]:
    """Say which of the files are damaged in place of what a library says of the first one."""
    try:
        yield
    except STREAM_DAMAGE as error:
        raise unreadable(files, error) from None


# A stream of many files does not say in which of them it broke, and its message may quote a record. So each file is
# read once more by itself, to the end: whoever has to fetch files again learns of all of them at once.
def unreadable(files: Sequence[Path], error: Exception) -> BadInput:
    """The error to raise instead of that of a library, which nobody is shown: it may quote a value."""
    damaged = [f"{file} ({why})" for file in files if (why := _damage(file))]
    if not damaged:
        return BadInput(f"visit files must be readable, reading them gave {type(error).__name__}")
    return BadInput(
        f"visit files must be readable to their ends, {len(damaged):,} of {len(files):,} are not: {some(damaged)}. "
        "They were cut off or damaged on their way, or are not what their names say: copy or export them again"
    )


def _damage(file: Path) -> str:
    """What reading a file to its end gives; empty if nothing is wrong."""
    try:
        format_of(file).read(file)
    except STREAM_DAMAGE as error:
        # The system's own words speak of the file, those of a library may speak of its content.
        return error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
    return ""
