"""DuckDB files that are replaced whole, so that readers never wait and a crash leaves the old one."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from resources.tables.files import public_files


@contextmanager
def replacing(database: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database built aside and moved into place when all went well."""
    partial = _partial(database)
    remove_partial(database)
    try:
        with writing(partial) as connection:
            yield connection
        _log(database).unlink(missing_ok=True)  # what a killed process left there belongs to the old database
        os.replace(partial, database)
    finally:
        remove_partial(database)


@contextmanager
def writing(database: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database to write to, quietly: DuckDB would draw a bar over what a run says on the terminal."""
    with public_files(), duckdb.connect(str(database)) as connection:
        connection.execute("set enable_progress_bar = false")
        yield connection


def remove_partial(database: Path) -> None:
    """Remove what was built aside and never took its place."""
    partial = _partial(database)
    for file in (partial, _log(partial)):
        file.unlink(missing_ok=True)


def _partial(database: Path) -> Path:
    return database.with_suffix(".partial")


def _log(database: Path) -> Path:
    """Where DuckDB writes what it has not yet put into the file."""
    return Path(f"{database}.wal")
