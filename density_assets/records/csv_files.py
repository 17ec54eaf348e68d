"""CSV files of records: streams of lines, each of which stands for itself and is cut into fields by itself.

Any of `\\n`, `\\r` and `\\r\\n` ends a line. Lines are cut here, because the database drops those that are longer than
its buffer without a word. A line that nobody can read, because it is far too long or no UTF-8, is null. Every line is
cut into fields by itself (RFC 4180, but for line breaks in fields). A field that begins with a quote ends at the quote
that a delimiter or the end of the line follows, and may hold delimiters and doubled quotes until there. A quote
anywhere else, or one that is never closed, is a character like any other: it reaches no further than its field.
"""

import gzip
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import BinaryIO, cast

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from density_assets.errors import BadInput
from density_assets.geography.lists import BYTE_ORDERS, TO_UTF8, refuse_line_above
from density_assets.records.values import RECORDED, SAMPLE, Chooser, Sample, utf8
from density_assets.sql_names import literal, quoted

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
COUNTING = Lock()  # the database may read several streams at once
FIRST_LINE_BYTES = 1 << 20
PACKED = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst", b"PK\x03\x04": ".zip"}  # how such a file begins
LONGEST = 2_000_000  # bytes of a line
CHUNK = 1 << 22
UNREADABLE = "line not readable"  # why a line is left out that is no text, or far too long
NEWLINE, RETURN = b"\n\r"


def open_text(file: Path) -> BinaryIO:
    """The content of a file, which may be compressed."""
    match file.suffix.lower():
        case ".gz":
            return cast(BinaryIO, gzip.open(file, "rb"))
        case ".zst":
            return cast(BinaryIO, pa.input_stream(str(file), compression="zstd"))
        case _:
            return file.open("rb")


def first_line(file: Path) -> str:
    """The line that names the columns, without a byte order mark; a file without one, or not of UTF-8, is refused."""
    with open_text(file) as content:
        start = content.read(FIRST_LINE_BYTES)
    line = re.split(rb"[\r\n]", start, maxsplit=1)[0]
    if inside := next((ending for begin, ending in PACKED.items() if start.startswith(begin)), None):
        raise BadInput(f"a file must be what its name says, {file.name} begins as {inside} does: rename or unpack it")
    if start.startswith(BYTE_ORDERS) or b"\0" in line:
        raise BadInput(f"text must be UTF-8, {file.name} is UTF-16 or no text: `iconv -f UTF-16 -t UTF-8` converts it")
    if not line or len(line) == FIRST_LINE_BYTES:
        found = "endless" if line else "empty in line 1: leave out empty lines before the names, and files of no bytes"
        raise BadInput(f"a visit file must start with its column names, {file.name} is {found}")
    try:
        return line.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput(f"text must be UTF-8, line 1 of {file.name} is not: {TO_UTF8}") from None


def lines(file: Path, *, latin1: bool = False) -> Iterator[pa.Array]:
    """The lines of a file that are not empty, in order, some at a time.

    latin1: every byte is a character, so that no line is unreadable for its bytes.
    """
    with open_text(file) as content:
        rest = b""
        while chunk := content.read(CHUNK):
            whole, rest = _whole_lines(rest + chunk)
            yield _lines_of(whole, latin1)
        yield _lines_of(rest, latin1)


def _whole_lines(data: bytes) -> tuple[bytes, bytes]:
    """Whole lines, and the beginning of the next; of one that is too long, just enough to tell that it is."""
    end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
    rest = data[end:]
    return data[:end], rest[: LONGEST + 1] if len(rest) > LONGEST else rest


def _lines_of(data: bytes, latin1: bool) -> pa.Array:
    if latin1:
        data = data.decode("latin-1").encode()
    content = np.frombuffer(data, dtype=np.uint8)
    ends = (content == NEWLINE) | (content == RETURN)
    marks = np.flatnonzero(ends)
    # Without the bytes that end them, lines lie side by side; what starts where the next one does is empty.
    starts = np.unique(np.concatenate([[0], marks - np.arange(len(marks)), [len(content) - len(marks)]]))
    text = pa.Array.from_buffers(
        pa.large_string(), len(starts) - 1, [None, pa.py_buffer(starts), pa.py_buffer(content[~ends])]
    )
    short = pc.less_equal(pc.binary_length(text), LONGEST)
    return utf8(pc.if_else(short, text, pa.scalar(None, pa.large_string())))


MARKS = {",": ",", ";": ";", "\t": r"\t", "|": r"\|"}  # delimiters, and how patterns write them
COMPRESSED = (".gz", ".zst")
TEXT = (".csv", ".txt", ".tsv")


@dataclass(frozen=True)
class Layout:
    """How lines are cut: the mark between fields, and the columns in order."""

    delimiter: str
    columns: tuple[str, ...]

    @property
    def pattern(self) -> str:
        """A field and the delimiter after it, as a regular expression of Python, DuckDB and Spark."""
        return _pattern(self.delimiter)

    def cut(self, line: str) -> list[str]:
        """The fields of a line, without the quotes around them."""
        return _fields(line, self.delimiter)

    @property
    def fields(self) -> str:
        """SQL for the fields of `line`, of a line that has as many as there are columns; else null."""
        simple = f"string_split(line, {literal(self.delimiter)})"
        found = f"regexp_extract_all(line || {literal(self.delimiter)}, {literal(self.pattern)}, 1)"
        return f"case when contains(line, '\"') then {found} else {simple} end"

    def field(self, column: str) -> str:
        """SQL for a column of `field`, without the quotes around it; null if nothing stands there."""
        value = f"field[{self.columns.index(column) + 1}]"
        return (
            f"case when length({value}) > 1 and starts_with({value}, '\"') and ends_with({value}, '\"') "
            f"then replace(substr({value}, 2, length({value}) - 2), '\"\"', '\"') else nullif({value}, '') end"
        )


def layout(file: Path, names: Collection[str] = ()) -> Layout:
    """The layout that the first line of a file tells.

    names: columns that are looked for; the delimiter is the one between most of them, then the one between most fields.
    """
    header = first_line(file)
    refuse_line_above(header, file)
    by_mark = {mark: tuple(field.strip() for field in _fields(header, mark)) for mark in MARKS}
    delimiter = max(MARKS, key=lambda mark: (len({*names} & {*by_mark[mark]}), len(by_mark[mark])))
    return Layout(delimiter, by_mark[delimiter])


def text_ending(file: Path) -> str:
    """The end of the name of a text file, without that of its compression; empty if it is another kind of file."""
    plain = file.with_suffix("") if file.suffix.lower() in COMPRESSED else file
    return plain.suffix.lower() if plain.suffix.lower() in TEXT else ""


def _pattern(delimiter: str) -> str:
    mark = MARKS[delimiter]
    return rf'("(?:[^"]|"")*"|[^{mark}]*){mark}'


def _fields(line: str, delimiter: str) -> list[str]:
    return [_unquoted(field) for field in re.findall(_pattern(delimiter), line + delimiter)]


def _unquoted(field: str) -> str:
    bare = field.strip()
    quotes = len(bare) > 1 and bare.startswith('"') and bare.endswith('"')
    return bare[1:-1].replace('""', '"') if quotes else field


def open_csv(
    connection: duckdb.DuckDBPyConnection, files: Sequence[Path], wanted: Mapping[str, str], rejected: Counter[str]
) -> list[duckdb.DuckDBPyRelation]:
    """The wanted columns of all files, those of the same layout together.

    A line with more or fewer fields than the first is a record of which nothing is known, not even the user.
    """
    by_layout: dict[Layout, list[Path]] = {}
    for file in files:
        by_layout.setdefault(_layout_with(file, wanted), []).append(file)
    return [_cut_lines(connection, same, how, wanted, rejected) for how, same in by_layout.items()]


def _layout_with(file: Path, wanted: Mapping[str, str]) -> Layout:
    found = layout(file, wanted.values())
    for setting, column in wanted.items():
        if found.columns.count(column) != 1:
            # The first line is not quoted here: without a header it would be somebody's record.
            many = "named more than once" if column in found.columns else "not"
            raise BadInput(f"{file.name}: {setting} must name a column of the file, {column!r} is {many} in line 1")
    return found


def _cut_lines(
    connection: duckdb.DuckDBPyConnection,
    files: list[Path],
    how: Layout,
    wanted: Mapping[str, str],
    rejected: Counter[str],
) -> duckdb.DuckDBPyRelation:
    schema = pa.schema({"line": pa.large_string()})
    stream = connection.from_arrow(pa.RecordBatchReader.from_batches(schema, _records(files, schema, rejected)))
    split = stream.project(f"{how.fields} as field")
    whole = split.project(f"case when len(field) = {len(how.columns)} then field end as field")
    return whole.project(", ".join(f"{how.field(name)} as {quoted(name)}" for name in dict.fromkeys(wanted.values())))


def _records(files: list[Path], schema: pa.Schema, rejected: Counter[str]) -> Iterator[pa.RecordBatch]:
    """The lines of all files but the first of each, which names the columns; those that are no text are counted."""
    for file in files:
        first = 1
        for batch in lines(file):
            records, first = batch[first:], 0 if len(batch) else first
            if records.null_count:
                with COUNTING:
                    rejected[UNREADABLE] += records.null_count
            yield pa.record_batch([records.drop_null()], schema)


def sample_csv(file: Path, named: Collection[str], _: Chooser) -> Sample:
    """Return the first records of a file; its delimiter gives most of the named columns."""
    with open_text(file) as content:
        marked = content.read(3) == BYTE_ORDER_MARK
    how = layout(file, named)
    if any(re.match(r"[-+.]?\d", name) or RECORDED.match(name) for name in how.columns):
        raise BadInput(f"{file.name}: line 1 must name the columns, it looks like a record")  # and is not repeated
    records = [line.as_py() for batch in islice(lines(file), 2) for line in batch[: SAMPLE + 1]][1 : SAMPLE + 1]
    fields = [how.cut(line) for line in records if line is not None]
    return Sample(
        columns=tuple((name, "text") for name in how.columns),
        rows=[dict(zip(how.columns, values, strict=True)) for values in fields if len(values) == len(how.columns)],
        looked_at=len(records),
        compression=file.suffix.lower() if file.suffix.lower() in COMPRESSED else "",
        delimiter=how.delimiter,
        encoding="UTF-8 with a byte order mark" if marked else "UTF-8",
    )


def read_csv(file: Path) -> None:
    """Read all lines of a file, for what a damaged one raises."""
    for _ in lines(file):
        pass
