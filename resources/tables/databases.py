"""DuckDB files that are replaced whole, so that readers never wait and a crash leaves the old one."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb


@contextmanager
def replacing(database: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database built aside and moved into place when all went well."""
    partial = database.with_suffix(".partial")
    partial.unlink(missing_ok=True)
    try:
        with duckdb.connect(str(partial)) as connection:
            yield connection
        _log(database).unlink(missing_ok=True)  # what a killed process left there belongs to the old database
        os.replace(partial, database)
    finally:
        partial.unlink(missing_ok=True)
        _log(partial).unlink(missing_ok=True)


def _log(database: Path) -> Path:
    """Where DuckDB writes what it has not yet put into the file."""
    return Path(f"{database}.wal")
