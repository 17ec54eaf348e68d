"""Rows of public lists (antennas, footprints) as operators export them: CSV of any dialect, or Parquet."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from density_assets.damage import POLARS_DAMAGE
from density_assets.errors import BadInput, missing_column, some
from density_assets.geography.public_csv import CSV_DAMAGE, read_public_csv, with_points
from density_assets.geography.public_files import is_parquet, refuse_nothing


def read_rows(files: Sequence[Path], columns: Mapping[str, str], what: str) -> pl.DataFrame:
    """The wanted columns of all files, by role.

    columns: names of columns, by role. what: what the rows are, for messages.
    """
    refuse_nothing(files, what)
    parts = [_read(file, columns, what) for file in files]
    try:
        rows = pl.concat(parts, how="vertical_relaxed")
    except POLARS_DAMAGE as error:
        raise BadInput(
            f"{files[0].name}: all files of the {what} must have columns of one type, got: {_words(error)}"
        ) from None
    if len(rows) == 0:
        raise BadInput(f"{files[0].name}: a list of {what} must have at least one row, found none")
    return rows


def numbers(values: pl.Series, path: Path, column: str, what: str) -> NDArray[np.float64]:
    """A column of finite numbers; text may have a comma for the point, if it does wherever it has either.

    what: what the numbers are, for messages.
    """
    if not (values.dtype == pl.String or values.dtype.is_numeric()):
        raise BadInput(f"{path.name}: {what} in {column!r} must be numbers, found {values.dtype}")
    found = with_points(values.str.strip_chars()) if values.dtype == pl.String else values
    array = found.cast(pl.Float64, strict=False).to_numpy()
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        named = [f"{values[int(row)]!r} (row {row + 1})" for row in bad]
        raise BadInput(
            f"{path.name}: {what} in {column!r} must be numbers with a decimal point, or all with a comma, "
            f"found {len(bad)} that are not: {some(named)}"
        )
    return array


def _read(file: Path, columns: Mapping[str, str], what: str) -> pl.DataFrame:
    try:
        scan = (
            pl.scan_parquet(file, hive_partitioning=False)
            if is_parquet(file)
            else read_public_csv(file, what, list(columns.values())).lazy()
        )
        there = scan.collect_schema().names()
        for role, column in columns.items():
            if column not in there:
                raise missing_column(file, role, column, there)
        return scan.select(pl.col(column).alias(role) for role, column in columns.items()).collect()
    except CSV_DAMAGE as error:
        raise BadInput(
            f"{file.name}: the {what} must be a Parquet file or a CSV in UTF-8, got: {_words(error)}"
        ) from None


def _words(error: BaseException) -> str:
    return str(error)[:200] or type(error).__name__
