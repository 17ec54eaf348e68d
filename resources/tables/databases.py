"""DuckDB files that are replaced whole, so that readers never wait and a crash leaves the old one."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from resources.faults import damaged, fault, unusable


@contextmanager
def reading(database: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database that nobody writes to."""
    try:
        with duckdb.connect(str(database), read_only=True) as connection:
            yield connection
    except (duckdb.Error, OSError) as error:  # Arrow passes on what DuckDB found as an OSError
        if damaged(error):
            raise unusable(database, error) from None
        raise


@contextmanager
def replacing(database: Path, *, keep: bool) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database built aside (from the old one if kept) and moved into place when all went well."""
    partial = database.with_suffix(".partial")
    partial.unlink(missing_ok=True)
    try:
        if keep and database.exists():
            shutil.copyfile(database, partial)
        with _opened(partial, database) as connection:
            yield connection
        os.replace(partial, database)
    finally:
        partial.unlink(missing_ok=True)
        Path(f"{partial}.wal").unlink(missing_ok=True)


def set_aside_if_damaged(database: Path) -> Path | None:
    """Move a database that cannot be read out of the way; returns where it went, if it had to."""
    if not database.exists() or readable(database):
        return None
    aside = database.with_suffix(".damaged")
    os.replace(database, aside)
    return aside


def readable(database: Path) -> bool:
    """Whether every table of a database can be read to its end."""
    try:
        with duckdb.connect(str(database), read_only=True) as connection:
            for (table,) in connection.sql("show tables").fetchall():
                for _ in connection.table(table).to_arrow_reader():
                    pass
    except (duckdb.Error, OSError) as error:
        return "lock on file" in str(error)
    return True


def _opened(partial: Path, database: Path) -> duckdb.DuckDBPyConnection:
    try:
        return duckdb.connect(str(partial))
    except duckdb.Error as error:
        if damaged(error) and fault(error, database.parent) is None:
            raise unusable(database, error) from None
        raise
