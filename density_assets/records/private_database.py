"""A database for looking at records: what of them does not fit memory goes where only its owner can read.

Left to itself, the database would spill into the folder one happens to be in. The confidential folder of a city may not
be there yet when records are looked at, or may not be written to by whoever looks.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

import duckdb


@contextmanager
def private_database() -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in memory, of which nothing is left in the end."""
    with TemporaryDirectory() as spill, duckdb.connect(config={"temp_directory": spill}) as connection:
        yield connection
