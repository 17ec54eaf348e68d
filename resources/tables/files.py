"""Files that are whole or absent, and who may read and write them, whatever the umask says.

What may be handed out is at most 644 in folders of at most 755; what is confidential is for its owner alone. DuckDB
files are replaced whole, so that readers never wait and a crash leaves the old one. What does not fit memory goes to a
folder per piece of work inside the confidential zone, which goes when the work ends; a killed process leaves it behind,
but not its lock, so whoever tidies up can tell what is left over from what is in use.
"""

import glob
import hashlib
import io
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb
import polars as pl
import polars.selectors as selectors
import pyarrow as pa
from filelock import FileLock, Timeout

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


# --- databases -------------------------------------------------------------------------------------------------------


@contextmanager
def replacing(database: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database built aside and moved into place when all went well."""
    partial = _partial(database)
    remove_partial(database)
    try:
        with writing(partial) as connection:
            yield connection
        _log(database).unlink(missing_ok=True)  # what a killed process left there belongs to the old database
        os.replace(partial, database)
    finally:
        remove_partial(database)


@contextmanager
def writing(database: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database to write to, quietly: DuckDB would draw a bar over what a run says on the terminal."""
    with public_files(), duckdb.connect(str(database)) as connection:
        connection.execute("set enable_progress_bar = false")
        yield connection


def remove_partial(database: Path) -> None:
    """Remove what was built aside and never took its place."""
    partial = _partial(database)
    for file in (partial, _log(partial)):
        file.unlink(missing_ok=True)


def _partial(database: Path) -> Path:
    return database.with_suffix(".partial")


def _log(database: Path) -> Path:
    """Where DuckDB writes what it has not yet put into the file."""
    return Path(f"{database}.wal")


# --- content ---------------------------------------------------------------------------------------------------------


def fingerprint(frame: pl.DataFrame) -> str:
    """Plain content hash of a public table: of its values as text, as equal tables may lie differently in memory."""
    text = frame.with_columns(selectors.binary().bin.encode("hex")).write_csv(null_value="\N{SYMBOL FOR NULL}")
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def column_types(schema: pa.Schema) -> dict[str, str]:
    """Arrow's name of each column's type."""
    return {field.name: str(field.type).removeprefix("large_") for field in schema}


# --- spill -----------------------------------------------------------------------------------------------------------

IN_USE = "in_use.lock"


@contextmanager
def spill_folder(confidential: Path) -> Iterator[Path]:
    """A folder of one's own, readable by its owner only."""
    root = confidential / "spill"
    root.mkdir(mode=0o700, exist_ok=True)
    with _opening(root):
        folder = Path(tempfile.mkdtemp(dir=root))
        lock = FileLock(folder / IN_USE, mode=0o600)
        lock.acquire()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock.release()


def sweep(confidential: Path) -> None:
    """Remove what killed processes left; work in progress is left alone."""
    root = confidential / "spill"
    if not root.exists():
        return
    with _opening(root):
        for folder in [entry for entry in root.iterdir() if entry.is_dir()]:
            try:
                with FileLock(folder / IN_USE, timeout=0, mode=0o600):
                    shutil.rmtree(folder, ignore_errors=True)
            except Timeout:
                continue


def _opening(root: Path) -> FileLock:
    return FileLock(root / "opening.lock", mode=0o600)
