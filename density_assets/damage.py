"""What libraries raise for a file that is damaged, cut short or of another kind.

Their messages may quote a value, so whoever catches one of these says which file it was, and the name of the error.
"""

import zlib

import duckdb
import polars as pl
import pyarrow as pa

ARROW_DAMAGE = (OSError, pa.ArrowException)
POLARS_DAMAGE = (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException)  # a panic is no Exception
STREAM_DAMAGE = (*ARROW_DAMAGE, duckdb.Error, EOFError, zlib.error)
