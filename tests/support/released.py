"""A public table and two weeks of a released one, and what the database of a release holds of them."""

from datetime import date

import duckdb
import polars as pl

from resources.tables.released import ReleasedTables

WEEK, NEXT, LATER = date(2007, 9, 10), date(2007, 9, 17), date(2007, 9, 24)
CELLS = pl.DataFrame({"cell_id": ["A", "B"], "geometry": [b"\x00\xff", None]})
COUNTS = pl.DataFrame({"cell_id": ["A", "B"], "count": [3, 4]})
FILES = ["cells.parquet", f"density/{WEEK}.parquet", f"density/{NEXT}.parquet"]


def exported(tables: ReleasedTables) -> dict[str, list[tuple]]:
    """What the database holds, the rows of each table in order."""
    with duckdb.connect(str(tables.release_database), read_only=True) as connection:
        names = [name for (name,) in connection.sql("show tables").fetchall()]
        return {name: in_order(connection.table(name).pl()) for name in names}


def stored(tables: ReleasedTables) -> dict[str, list[tuple]]:
    """What the files hold, read without DuckDB."""
    public = {file.stem: pl.read_parquet(file) for file in tables.tables.glob("*.parquet") if file.stem != "exported"}
    weekly = {
        folder.name: pl.concat(map(pl.read_parquet, sorted(folder.glob("*.parquet"))), how="diagonal_relaxed")
        for folder in {file.parent for file in tables.tables.glob("*/*.parquet")}
    }
    return {name: in_order(frame) for name, frame in (public | weekly).items()}


def in_order(frame: pl.DataFrame) -> list[tuple]:
    return sorted(frame.select(sorted(frame.columns)).rows(), key=repr)
