"""Text files as a stream of lines, each of which stands for itself.

Any of `\\n`, `\\r` and `\\r\\n` ends a line. Lines are cut here, because the database drops those that are longer than
its buffer without a word. A line that nobody can read, because it is far too long or no UTF-8, is null.
"""

import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from density_assets.errors import BadInput
from density_assets.geography.lists import BYTE_ORDERS, TO_UTF8
from density_assets.records.values import utf8

FIRST_LINE_BYTES = 1 << 20
PACKED = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst", b"PK\x03\x04": ".zip"}  # how such a file begins
LONGEST = 2_000_000  # bytes of a line
CHUNK = 1 << 22
UNREADABLE = "line not readable"  # why a line is left out that is no text, or far too long
NEWLINE, RETURN = b"\n\r"


def opened(file: Path) -> BinaryIO:
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
    with opened(file) as content:
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
    with opened(file) as content:
        rest = b""
        while chunk := content.read(CHUNK):
            whole, rest = _cut(rest + chunk)
            yield _split(whole, latin1)
        yield _split(rest, latin1)


def _cut(data: bytes) -> tuple[bytes, bytes]:
    """Whole lines, and the beginning of the next; of one that is too long, just enough to tell that it is."""
    end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
    rest = data[end:]
    return data[:end], rest[: LONGEST + 1] if len(rest) > LONGEST else rest


def _split(data: bytes, latin1: bool) -> pa.Array:
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
