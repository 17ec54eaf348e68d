"""Files that are whole or absent, and who may read and write them, whatever the umask says.

What may be handed out is at most 644 in folders of at most 755; what is confidential is for its owner alone.
"""

import glob
import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import polars as pl

PUBLIC_FILE, PUBLIC_FOLDER = 0o644, 0o755  # a stricter umask takes more away, a laxer one gives nothing
OTHERS_WRITE = 0o022


def write_durably(file: Path, content: bytes) -> None:
    """Write a file that is whole or absent, and on disk when this returns: 644, or 600 in `private_files`."""
    _remove_leftovers(file)
    partial = file.with_name(f"{file.name}.{os.getpid()}.partial")
    with open(partial, "wb", opener=lambda path, flags: os.open(path, flags, PUBLIC_FILE)) as handle:
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


def make_folder(folder: Path) -> None:
    """Make a folder, and those it lies in, where only the owner may write; `mkdir(parents=True)` follows the umask."""
    for path in reversed([folder, *folder.parents]):
        if not path.exists():
            path.mkdir(mode=PUBLIC_FOLDER, exist_ok=True)


def close_to_others(path: Path) -> None:
    """Take the right to write from all but the owner of what an older version has made under a lax umask."""
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & OTHERS_WRITE:
        with suppress(PermissionError):  # somebody else's: it is for them to say
            path.chmod(mode & ~OTHERS_WRITE)


def parquet_bytes(frame: pl.DataFrame) -> bytes:
    """A table as the content of a Parquet file, to be written durably."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


@contextmanager
def private_files() -> Iterator[None]:
    """Create files that only their owner can read."""
    with _masked(0o077):
        yield


@contextmanager
def public_files() -> Iterator[None]:
    """Create files that at most their owner can write: for libraries that create files themselves."""
    with _masked(OTHERS_WRITE):
        yield


@contextmanager
def _masked(rights: int) -> Iterator[None]:
    """Take rights from what is created, beyond those that the umask takes anyway."""
    before = os.umask(0o077)  # the umask can be read by setting it only
    os.umask(before | rights)
    try:
        yield
    finally:
        os.umask(before)
