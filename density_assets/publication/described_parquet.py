"""Parquet files that explain themselves: every column with its type, its meaning and its unit, zstd, in order.

Whatever reads Parquet gets dates as dates and moments as moments; what reads metadata too (pyarrow, R arrow, DuckDB's
`parquet_kv_metadata`) gets the words of the data dictionary.
"""

import json
from collections.abc import Mapping
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from density_assets.publication.columns import Column, Columns, Kind

TYPES: dict[Kind, pa.DataType] = {
    "string": pa.string(),
    "integer": pa.int64(),
    "number": pa.float64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "geometry": pa.binary(),
}


def described_parquet(table: pl.DataFrame, columns: Columns, about: Mapping[str, Any]) -> bytes:
    """The content of a Parquet file: the same bytes for the same table.

    columns: what describes those of the table, in its order. about: what is said of the whole, as text or JSON.
    """
    arrow = table.to_arrow()
    fields = [_field(column, arrow.schema.field(column.name)) for column in columns]
    said = {name: value if isinstance(value, str) else json.dumps(value) for name, value in about.items()}
    sink = pa.BufferOutputStream()
    pq.write_table(arrow.cast(pa.schema(fields, metadata=said)), sink, compression="zstd")
    return bytes(sink.getvalue())


def _field(column: Column, found: pa.Field) -> pa.Field:
    """A column as it is kept: a moment keeps its zone, a short number its width."""
    as_found = pa.types.is_timestamp(found.type) or pa.types.is_floating(found.type) or pa.types.is_integer(found.type)
    said = {"kind": column.kind, "meaning": column.meaning, "unit": column.unit, "concept": column.concept}
    return pa.field(
        column.name,
        found.type if as_found else TYPES[column.kind],
        nullable=not column.required,
        metadata={name: text for name, text in said.items() if text},
    )
