"""Does a text appear anywhere under a folder? Compressed formats are opened, everything else is searched as bytes."""

from pathlib import Path

import duckdb
import numpy as np
import polars as pl


def files_with(text: str, folder: Path) -> set[str]:
    """Files in which the text appears, relative to the folder."""
    files = (file for file in folder.rglob("*") if file.is_file())
    return {str(file.relative_to(folder)) for file in files if text.encode() in readable(file)}


def readable(file: Path) -> bytes:
    """A file's bytes, followed by what they hold where they are compressed."""
    raw = file.read_bytes()
    if file.suffix == ".parquet":
        return raw + str(pl.read_parquet(file).rows()).encode()
    if file.suffix == ".npz":
        with np.load(file) as archive:
            return raw + " ".join(str(archive[name]) for name in archive.files).encode()
    if file.suffix == ".duckdb":
        return raw + _rows(file)
    return raw


def _rows(file: Path) -> bytes:
    with duckdb.connect(str(file), read_only=True) as connection:
        tables = [name for (name,) in connection.sql("select table_name from duckdb_tables()").fetchall()]
        return " ".join(str(connection.table(f'"{name}"').fetchall()) for name in tables).encode()
