"""What a table holds, said without showing it: a hash of its values, the types of its columns."""

import hashlib

import polars as pl
import polars.selectors as selectors
import pyarrow as pa


def fingerprint(frame: pl.DataFrame) -> str:
    """Plain content hash of a public table: of its values as text, as equal tables may lie differently in memory."""
    text = frame.with_columns(selectors.binary().bin.encode("hex")).write_csv(null_value="\N{SYMBOL FOR NULL}")
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def column_types(schema: pa.Schema) -> dict[str, str]:
    """Arrow's name of each column's type."""
    return {field.name: str(field.type).removeprefix("large_") for field in schema}
