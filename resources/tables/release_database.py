"""`release.duckdb`: the public and released tables in one file, for whoever likes SQL.

It is made of the Parquet files beside it and brought up to date once per run, by the weeks that have changed: its cost
hardly grows with the weeks it holds. Times, which the files keep as text with its offset, are moments in it. Where it
cannot be changed in place (it is damaged, it is not as the last run left it, or somebody reads it) it is built anew
beside the old one and takes its place, so nobody waits and nothing is lost.
"""

import json
from collections.abc import Iterable
from pathlib import Path

import duckdb

from density_assets.errors import BadInput
from density_assets.sql_names import quoted
from resources.faults import fault
from resources.tables.files import close_to_others, private_files, remove_partial, replacing, write_durably, writing
from resources.tables.released import WEEKS, ReleasedTables, read_whole

TEXT = duckdb.sqltype("varchar")
MOMENT = "timestamp"  # the column of times
LISTED = "exported"  # what the last run had to read: not part of the database

Version = list[int]  # size and time of a file
Versions = dict[str, Version]  # by the path below the folder of tables; that of the database by its name


def export(tables: ReleasedTables) -> list[str]:
    """Bring the database up to date; returns the files it had to read.

    When files were written is noted beside the locks, for the owner alone: from the first table of a run to its draws
    it takes the longer the more records there are.
    """
    database, noted = tables.release_database, tables.locks / f"{LISTED}.json"
    with tables.locked("release"):
        remove_partial(database)
        files, before = _versions(tables.tables), _noted(noted)
        untouched = database.exists() and before.pop(database.name, None) == _version(database)
        stale = [name for name, version in files.items() if before.get(name) != version]
        if not (untouched and before.keys() <= files.keys() and _updated(database, tables.tables, stale)):
            stale = list(files)
            _build(database, tables.tables, files)
        close_to_others(database)
        with private_files():
            write_durably(noted, json.dumps({**files, database.name: _version(database)}).encode())
    return stale


def _updated(database: Path, folder: Path, stale: Iterable[str]) -> bool:
    """Replace what is stale, all of it or nothing; whether that could be done."""
    try:
        with writing(database) as connection:
            connection.begin()
            for name in stale:
                _replace(connection, folder, name)
            connection.commit()
    except duckdb.Error:
        return False
    return True


def _build(database: Path, folder: Path, files: Iterable[str]) -> None:
    """Make the whole database of all files."""
    try:
        with replacing(database) as connection:
            for table in sorted({_table(name) for name in files}):
                _whole(connection, folder, table)
    except duckdb.Error as error:
        for name in files:
            read_whole(folder / name)  # says which of them is damaged, and how to mend it
        raise fault(error, folder) or BadInput(
            f"the tables in {folder} must fit into a database, putting them there gave {type(error).__name__}: "
            "`density rebuild` makes them again from stored draws, at no charge"
        ) from None


def _replace(connection: duckdb.DuckDBPyConnection, folder: Path, name: str) -> None:
    """Replace a table, or one week of it.

    A week whose columns differ from those of the table makes the whole table anew: DuckDB would round a number that
    does not fit the type of the weeks before.
    """
    table, rows = _table(name), _read(connection, [str(folder / name)])
    columns = _columns(connection, table)
    if "/" not in name or columns != _types(rows):
        _whole(connection, folder, table)
        return
    connection.execute(f"delete from {quoted(table)} where week = $week", {"week": Path(name).stem})  # noqa: S608  # quoted
    rows.select(*map(duckdb.ColumnExpression, columns)).insert_into(quoted(table))


def _whole(connection: duckdb.DuckDBPyConnection, folder: Path, table: str) -> None:
    """A table of all its files; a column that older weeks do not have is empty in them."""
    weeks = sorted(map(str, (folder / table).glob(WEEKS))) or [str(folder / f"{table}.parquet")]
    connection.execute(f"drop table if exists {quoted(table)}")
    _read(connection, weeks).create(quoted(table))


def _read(connection: duckdb.DuckDBPyConnection, files: list[str]) -> duckdb.DuckDBPyRelation:
    """The rows of files of one table; times that are text become moments."""
    rows = connection.read_parquet(files, union_by_name=True)
    if _types(rows).get(MOMENT) != TEXT:
        return rows
    return rows.project("* replace (cast(timestamp as timestamptz) as timestamp)")


def _columns(connection: duckdb.DuckDBPyConnection, table: str) -> dict[str, object]:
    """The columns of a table and their types, in its order; none if there is no such table."""
    if (table,) not in connection.sql("show tables").fetchall():
        return {}
    return _types(connection.table(quoted(table)))


def _types(rows: duckdb.DuckDBPyRelation) -> dict[str, object]:
    return dict(zip(rows.columns, rows.types, strict=True))


def _table(name: str) -> str:
    """The table that a file belongs to."""
    return Path(name).parts[0].removesuffix(".parquet")


def _versions(folder: Path) -> Versions:
    files = [*sorted(folder.glob("*.parquet")), *sorted(folder.glob(f"*/{WEEKS}"))]
    return {str(file.relative_to(folder)): _version(file) for file in files if file.stem != LISTED}


def _version(file: Path) -> Version:
    found = file.stat()
    return [found.st_size, found.st_mtime_ns]


def _noted(file: Path) -> Versions:
    try:
        noted = json.loads(file.read_text())
    except (OSError, ValueError):
        return {}
    return noted if isinstance(noted, dict) else {}
