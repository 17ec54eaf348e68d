"""Public lists that settings name (antennas, footprints, regions, factors), as operators and offices export them.

A setting names one file, a folder of Parquet, or a pattern of files. Folders are those that Spark writes: parts in
folders such as `year=2023/month=1/day=2`, beside `_SUCCESS` and checksums (`.part-0.parquet.crc`), which are no data.
A CSV is UTF-8, with or without a byte-order mark, plain or compressed by gzip; its fields may be quoted, and `,`, `;`,
tab or `|` stand between them: whichever gives the columns that are looked for. All its values are text, so that `007`
stays `007`.
"""

import csv
import gzip
import io
import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from density_assets.damage import POLARS_DAMAGE
from density_assets.errors import BadInput, missing_column, some

LIST_DAMAGE = (*POLARS_DAMAGE, EOFError, zlib.error, csv.Error)  # what reading a damaged file may raise
PARQUET_SUFFIXES = {".parquet", ".pq", ".geoparquet"}
PARTS, WILD = "**/*.parquet", "*?["
MARKS = ",;\t|"
BYTE_ORDERS = (b"\xff\xfe", b"\xfe\xff")  # that UTF-16 begins with
TO_UTF8 = "if it is Windows-1252 or Latin-1, convert it by `iconv -f WINDOWS-1252 -t UTF-8`"
DECIMAL_COMMA = r"^[+-]?[0-9]+,[0-9]+$"
LOOKED_AT = 4_096  # bytes; without such a mark, UTF-16 shows by its zeros
# As spreadsheets take it: a sign alone may begin a name such as -12_34, but not a call or a link to a program.
FORMULA = re.compile(r"[=@]|[+-].*[(|!]")


def public_files(path: Path) -> list[Path]:
    """Return the files a path stands for, in order; the path itself if there is nothing."""
    if path.is_dir():
        return _data_files(path, PARTS) or [path]
    if path.exists() or not any(mark in path.name or mark in str(path.parent) for mark in WILD):
        return [path]
    # Only what does not exist is a pattern: a folder may have brackets in its name.
    base = next(folder for folder in path.parents if folder.is_dir())
    return _data_files(base, str(path.relative_to(base))) or [path]


def _data_files(base: Path, pattern: str) -> list[Path]:
    files = [file for file in base.glob(pattern) if file.is_file()]
    return sorted(f for f in files if not any(part.startswith(("_", ".")) for part in f.relative_to(base).parts))


def is_parquet(file: Path) -> bool:
    """Return whether a file is Parquet, by its name."""
    return file.suffix.lower() in PARQUET_SUFFIXES


def read_list(
    path: Path,
    roles: Mapping[str, str | Sequence[str]],
    what: str,
    *,
    optional: Collection[str] = (),
    as_text: bool = False,
) -> pl.DataFrame:
    """Return the rows of all files of a list, with one column per role.

    roles: the name of the column, by role; of several names the first that is there.
    what: what the rows are, for messages. optional: roles that a list may lack.
    as_text: every value as text without surrounding blanks, an empty one as none; else Parquet keeps its types.
    """
    files = public_files(path)
    parts = [_read_part(file, roles, what, optional, as_text=as_text) for file in files]
    try:
        rows = pl.concat(parts, how="vertical_relaxed")
    except POLARS_DAMAGE as error:
        raise BadInput(f"{path.name}: all files of the {what} must have equal columns, got: {_brief(error)}") from None
    if rows.is_empty():
        raise BadInput(f"{path.name}: the {what} must have at least one row, found none")
    # Rows of many files are sorted by what they say: how Spark cuts files must not change a city.
    flat = [name for name, kind in rows.schema.items() if not kind.is_nested()]
    return rows.sort(flat) if len(files) > 1 and flat else rows


def read_whole_file(file: Path, what: str, columns: Sequence[str] = ()) -> pl.DataFrame:
    """Return all rows and columns of one file; a CSV is cut where that gives most of the columns looked for."""
    with _damage_named(file, what):
        return _scan(file, what, columns).collect()


def _read_part(
    file: Path, roles: Mapping[str, str | Sequence[str]], what: str, optional: Collection[str], *, as_text: bool
) -> pl.DataFrame:
    names = {role: (name,) if isinstance(name, str) else tuple(name) for role, name in roles.items()}
    with _damage_named(file, what):
        rows = _scan(file, what, [name for alternatives in names.values() for name in alternatives])
        columns = rows.collect_schema().names()
        chosen = {role: next((name for name in names[role] if name in columns), None) for role in names}
        for role, column in chosen.items():
            if column is None and role not in optional:
                raise missing_column(file, role, names[role][0], columns)
        part = rows.select(pl.col(column).alias(role) for role, column in chosen.items() if column is not None)
        if as_text:
            part = part.select(pl.all().cast(pl.String).str.strip_chars().replace("", None))
        return part.collect()


def _scan(file: Path, what: str, columns: Sequence[str]) -> pl.LazyFrame:
    if not file.is_file():
        there = "a folder without Parquet files" if file.is_dir() else "nothing there"
        raise BadInput(f"{file}: the file of the {what} must exist, found {there}")
    if is_parquet(file):
        return pl.scan_parquet(file, hive_partitioning=False)
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
    return pl.read_csv(io.BytesIO(content), infer_schema=False, separator=_mark(first, columns)).lazy()


@contextmanager
def _damage_named(file: Path, what: str) -> Iterator[None]:
    """Turn what a library raises at a damaged file into an error that names it."""
    try:
        yield
    except LIST_DAMAGE as error:
        raise BadInput(
            f"{file.name}: the {what} must be a Parquet file or a CSV in UTF-8 with a header, got: {_brief(error)}"
        ) from None


def _brief(error: BaseException) -> str:
    return str(error)[:200] or type(error).__name__


def refuse_line_above(first: str, file: Path) -> None:
    """Raise if the first line of a CSV is such as `sep=;`, which spreadsheets put above the names of columns."""
    if re.fullmatch("sep=.?", first.strip(), re.IGNORECASE):
        raise BadInput(f"{file.name}: line 1 must name the columns, it is the one that Excel puts above: take it off")


def _mark(first: str, wanted: Sequence[str]) -> str:
    """Return what stands between fields of the first line: what gives most wanted columns, then most columns."""
    headers = {mark: next(csv.reader([first], delimiter=mark), []) for mark in MARKS}
    return max(MARKS, key=lambda mark: (len({*wanted} & {*headers[mark]}), len(headers[mark])))


def numbers(values: pl.Series, path: Path, column: str, what: str) -> NDArray[np.float64]:
    """Return a column of finite numbers; text may have a comma for the point, if it does wherever it has either.

    what: what the numbers are, for messages.
    """
    if not (values.dtype == pl.String or values.dtype.is_numeric()):
        raise BadInput(f"{path.name}: {what} in {column!r} must be numbers, found {values.dtype}")
    plain = with_points(values.str.strip_chars()) if values.dtype == pl.String else values
    array = plain.cast(pl.Float64, strict=False).to_numpy()
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        named = [f"{values[int(row)]!r} (row {row + 1})" for row in bad]
        raise BadInput(
            f"{path.name}: {what} in {column!r} must be numbers with a decimal point, or all with a comma, "
            f"found {len(bad)} that are not: {some(named)}"
        )
    return array


def with_points(text: pl.Series) -> pl.Series:
    """Return numbers with decimal commas as numbers with points; unchanged if any has a point: commas are others."""
    if text.str.contains(".", literal=True).any():
        return text
    commas = text.str.contains(DECIMAL_COMMA)
    return pl.select(pl.when(commas).then(text.str.replace(",", ".", literal=True)).otherwise(text)).to_series()


def refuse_other_keys(keys: pl.Series, wanted: Sequence[str], path: Path, what: str) -> None:
    """Raise unless keys are the wanted ones, each once."""
    present, known = keys.drop_nulls(), set(wanted)
    listed = dict.fromkeys(present)  # in order
    wrong: dict[str, list[object]] = {
        "without one": [row for row, key in enumerate(keys, start=1) if key is None],
        "missing": [key for key in wanted if key not in listed],
        "unknown": [key for key in listed if key not in known],
        "there more than once": present.filter(present.is_duplicated()).unique().sort().to_list(),
    }
    problems = "; ".join(f"{len(those):,} {how}: {some(those)}" for how, those in wrong.items() if those)
    if problems:
        raise BadInput(f"{path.name}: every {what} must be in {keys.name!r} once and no other, found {problems}")


def refuse_formulas(ids: Iterable[object], path: Path, column: str) -> None:
    """Raise if an identifier or a name that is published would be run by a spreadsheet that opens the CSV."""
    odd = [repr(text) for text in map(str, ids) if FORMULA.match(text)]
    if odd:
        raise BadInput(
            f"{path.name}: {column!r} is published, so its values must not be formulas that a spreadsheet runs, found "
            f"{len(odd):,} that begin like one: {some(odd)}"
        )


def refuse_unprintable(ids: Iterable[object], path: Path, column: str) -> None:
    """Raise if an identifier is blank, which names nothing, or has a control character, which C and CSV lose."""
    texts = [str(id_) for id_ in ids]
    odd = [repr(text) for text in texts if not text.strip() or any(c < " " or c == "\x7f" for c in text)]
    if odd:
        raise BadInput(
            f"{path.name}: ids in {column!r} must be neither blank nor hold control characters, "
            f"found {len(odd)} that do: {some(odd)}"
        )
