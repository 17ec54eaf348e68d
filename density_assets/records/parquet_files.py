"""Columns of Parquet files as a stream that no value can stop.

What cannot be read is null (`values.py`). A file as a whole may still be refused, if it is damaged or lacks a column.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from density_assets.errors import BadInput
from density_assets.records.values import readable, readable_type

ROWS = 8_192  # at a time
BUFFER = 1 << 20  # bytes of a column that are read at once: a row group may be larger than memory
READING = {"pre_buffer": False, "buffer_size": BUFFER, "coerce_int96_timestamp_unit": "ms"}

Types = tuple[pa.DataType, ...]


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
    by_types: dict[Types, list[Path]] = {}
    for file in files:
        by_types.setdefault(_types(file, columns), []).append(file)
    names = list(dict.fromkeys(columns.values()))
    return [connection.from_arrow(_stream(same, names, types)) for types, same in by_types.items()]


def column_names(file: Path) -> list[str]:
    """What the columns of a file are called."""
    return list(pq.read_schema(file).names)


def _types(file: Path, columns: Mapping[str, str]) -> Types:
    schema = pq.ParquetFile(file, **READING).schema_arrow
    for setting, name in columns.items():
        if name not in schema.names:
            # Its columns are not named: of a table that was made without a header they are somebody's record.
            raise BadInput(f"{file.name}: {setting} must name a column of the file, {name!r} is none of its columns")
        if schema.names.count(name) > 1:
            raise BadInput(f"{file.name}: {setting} must name one column of the file, several are called {name!r}")
    return tuple(schema.field(name).type for name in dict.fromkeys(columns.values()))


def _stream(files: list[Path], names: list[str], types: Types) -> pa.RecordBatchReader:
    schema = pa.schema(zip(names, map(readable_type, types), strict=True))
    return pa.RecordBatchReader.from_batches(schema, _batches(files, names, schema))


def _batches(files: list[Path], names: list[str], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for file in files:
        with pq.ParquetFile(file, **READING) as opened:
            for batch in opened.iter_batches(ROWS, columns=names, use_threads=False):
                yield pa.record_batch([readable(batch.column(name)) for name in names], schema)
