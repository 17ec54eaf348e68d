"""Files that are whole or absent, and files that only their owner can read."""

import glob
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl


def write_durably(file: Path, content: bytes) -> None:
    """Write a file that is whole or absent, and on disk when this returns."""
    _remove_leftovers(file)
    partial = file.with_name(f"{file.name}.{os.getpid()}.partial")
    with partial.open("wb") as handle:
        handle.write(content)
        handle.flush()
        os.fsync(handle.fileno())
    os.replace(partial, file)
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _remove_leftovers(file: Path) -> None:
    """Remove what processes died over while they wrote this file."""
    for left in file.parent.glob(f"{glob.escape(file.name)}.*.partial"):
        if not Path("/proc", left.suffixes[-2][1:]).exists():
            left.unlink(missing_ok=True)


def parquet_bytes(frame: pl.DataFrame) -> bytes:
    """A table as the content of a Parquet file, to be written durably."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


@contextmanager
def private_files() -> Iterator[None]:
    """Create files that only their owner can read."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)
