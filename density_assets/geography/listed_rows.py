"""Rows of public lists (antennas, footprints) as operators export them: CSV of any dialect, or Parquet.

A CSV is UTF-8, with or without a byte-order mark, plain or compressed by gzip; its fields may be quoted, and `,`, `;`,
tab or `|` stand between them: whichever gives the columns that settings name. All its values are text.
"""

import csv
import gzip
import io
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from density_assets.damage import POLARS_DAMAGE
from density_assets.errors import BadInput, missing_column, some
from density_assets.geography.public_files import is_parquet, refuse_nothing

MARKS = ",;\t|"
BYTE_ORDERS = (b"\xff\xfe", b"\xfe\xff")  # that UTF-16 begins with
LOOKED_AT = 4_096  # bytes; without such a mark, UTF-16 shows by its zeros
DECIMAL_COMMA = r"^[+-]?[0-9]+,[0-9]+$"


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
    found = _with_points(values.str.strip_chars()) if values.dtype == pl.String else values
    array = found.cast(pl.Float64, strict=False).to_numpy()
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        named = [f"{values[int(row)]!r} (row {row + 1})" for row in bad]
        raise BadInput(
            f"{path.name}: {what} in {column!r} must be numbers with a decimal point, or all with a comma, "
            f"found {len(bad)} that are not: {some(named)}"
        )
    return array


def _with_points(text: pl.Series) -> pl.Series:
    """Numbers with decimal commas as numbers with points; unchanged if any has a point, for then commas are others."""
    if text.str.contains(".", literal=True).any():
        return text
    commas = text.str.contains(DECIMAL_COMMA)
    return pl.select(pl.when(commas).then(text.str.replace(",", ".", literal=True)).otherwise(text)).to_series()


def _read(file: Path, columns: Mapping[str, str], what: str) -> pl.DataFrame:
    try:
        scan = pl.scan_parquet(file, hive_partitioning=False) if is_parquet(file) else _csv(file, columns, what)
        there = scan.collect_schema().names()
        for role, column in columns.items():
            if column not in there:
                raise missing_column(file, role, column, there)
        return scan.select(pl.col(column).alias(role) for role, column in columns.items()).collect()
    except (*POLARS_DAMAGE, EOFError, zlib.error, csv.Error) as error:
        raise BadInput(
            f"{file.name}: the {what} must be a Parquet file or a CSV in UTF-8, got: {_words(error)}"
        ) from None


def _csv(file: Path, columns: Mapping[str, str], what: str) -> pl.LazyFrame:
    content = gzip.decompress(file.read_bytes()) if file.suffix.lower() == ".gz" else file.read_bytes()
    start = content[:LOOKED_AT]
    if start[:2] in BYTE_ORDERS or 4 * start.count(0) > len(start) > 0:
        raise BadInput(f"{file.name}: the {what} must be a CSV in UTF-8, found UTF-16: export it as UTF-8")
    mark = _mark(content, list(columns.values()))
    return pl.read_csv(io.BytesIO(content), infer_schema=False, separator=mark).lazy()


def _mark(content: bytes, wanted: Sequence[str]) -> str:
    """What stands between fields: whatever gives most of the wanted columns, and then most columns."""
    first = content.split(b"\n", 1)[0].decode("utf-8-sig", errors="replace").rstrip("\r")
    headers = {mark: next(csv.reader([first], delimiter=mark), []) for mark in MARKS}
    return max(MARKS, key=lambda mark: (len({*wanted} & {*headers[mark]}), len(headers[mark])))


def _words(error: BaseException) -> str:
    return str(error)[:200] or type(error).__name__
