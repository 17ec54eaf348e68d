"""CSV as operators and offices export it, of any dialect; all values are text, so that `007` stays `007`.

It is UTF-8, with or without a byte-order mark, plain or compressed by gzip; its fields may be quoted, and `,`, `;`, tab
or `|` stand between them: whichever gives the columns that are looked for.
"""

import csv
import gzip
import io
import re
import zlib
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from density_assets.damage import POLARS_DAMAGE
from density_assets.errors import BadInput

CSV_DAMAGE = (*POLARS_DAMAGE, EOFError, zlib.error, csv.Error)  # what reading a damaged file may raise
MARKS = ",;\t|"
BYTE_ORDERS = (b"\xff\xfe", b"\xfe\xff")  # that UTF-16 begins with
TO_UTF8 = "if it is Windows-1252 or Latin-1, convert it by `iconv -f WINDOWS-1252 -t UTF-8`"
DECIMAL_COMMA = r"^[+-]?[0-9]+,[0-9]+$"
LOOKED_AT = 4_096  # bytes; without such a mark, UTF-16 shows by its zeros


def read_public_csv(file: Path, what: str, columns: Sequence[str] = ()) -> pl.DataFrame:
    """All of a file.

    what: what its rows are, for messages. columns: names that are looked for.
    """
    content = gzip.decompress(file.read_bytes()) if file.suffix.lower() == ".gz" else file.read_bytes()
    start = content[:LOOKED_AT]
    if start[:2] in BYTE_ORDERS or 4 * start.count(0) > len(start) > 0:
        raise BadInput(f"{file.name}: the {what} must be a CSV in UTF-8, found UTF-16: export it as UTF-8")
    try:
        content.decode()
    except UnicodeDecodeError:
        raise BadInput(f"{file.name}: the {what} must be a CSV in UTF-8, which this is not: {TO_UTF8}") from None
    first = content.split(b"\n", 1)[0].decode("utf-8-sig").rstrip("\r")
    refuse_line_above(first, file)
    return pl.read_csv(io.BytesIO(content), infer_schema=False, separator=_mark(first, columns))


def refuse_line_above(first: str, file: Path) -> None:
    """Raise if the first line of a CSV is such as `sep=;`, which spreadsheets put above the names of columns."""
    if re.fullmatch("sep=.?", first.strip(), re.IGNORECASE):
        raise BadInput(f"{file.name}: line 1 must name the columns, it is the one that Excel puts above: take it off")


def with_points(text: pl.Series) -> pl.Series:
    """Numbers with decimal commas as numbers with points; unchanged if any has a point, for then commas are others."""
    if text.str.contains(".", literal=True).any():
        return text
    commas = text.str.contains(DECIMAL_COMMA)
    return pl.select(pl.when(commas).then(text.str.replace(",", ".", literal=True)).otherwise(text)).to_series()


def _mark(first: str, wanted: Sequence[str]) -> str:
    """What stands between fields of the first line: whatever gives most of the wanted columns, then most columns."""
    headers = {mark: next(csv.reader([first], delimiter=mark), []) for mark in MARKS}
    return max(MARKS, key=lambda mark: (len({*wanted} & {*headers[mark]}), len(headers[mark])))
