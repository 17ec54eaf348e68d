"""What broke, in words a person can act on: full disks, disks one may not write to, too little memory.

Messages of libraries may quote a value of a confidential table, so they are not repeated.
"""

import errno
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from density_assets.errors import BadInput

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FULL_WORDS = ("No space left on device", "database or disk is full", "File too large", "Disk quota exceeded")
CLOSED_WORDS = ("Read-only file system", "readonly database")
LITTLE = 2**20  # bytes; SQLite asks for less at a time
FAULTS = (OSError, duckdb.Error, sqlite3.OperationalError)


@contextmanager
def in_clear_words(folder: Path) -> Iterator[None]:
    """Say of such a fault what to do, and let every other error through."""
    try:
        yield
    except FAULTS as error:
        if said := fault(error, folder):
            raise said from None
        raise


def fault(error: Exception, folder: Path) -> BadInput | None:
    """The error to raise instead, if it is one that a person can mend outside the data.

    folder: what is stored there is as it was, because everything is written aside first.
    """
    if _full(error, folder):
        return BadInput(
            f"the disk must have room for what is written, but the one that holds {folder} is full: free some space "
            "and start again. Stored weeks are as they were, and noise that was stored is not drawn again"
        )
    if _closed(error, folder):
        return BadInput(
            f"this program must be able to read and write what it keeps under {folder}, but it may not: mount that "
            "writable, give it to whoever runs this, or set DENSITY_HOME to another folder. What is stored is as it was"
        )
    if isinstance(error, duckdb.OutOfMemoryException):
        return BadInput(
            "the database must get by with engine.memory, but it did not: raise it, or lower engine.threads or "
            "engine.rows_per_bucket, and start again"
        )
    return None


def _closed(error: Exception, folder: Path) -> bool:
    """Whether the folder may not be written to; a file elsewhere that may not be read is another matter."""
    if any(words in str(error) for words in CLOSED_WORDS):
        return True
    named = getattr(error, "filename", None)
    return isinstance(error, PermissionError) and isinstance(named, str) and Path(named).is_relative_to(folder)


def _full(error: Exception, folder: Path) -> bool:
    if getattr(error, "errno", None) in FULL or any(words in str(error) for words in FULL_WORDS):
        return True
    # SQLite gives this name also to a file it could not make longer, and to a broken disk: look which it is.
    return "disk I/O error" in str(error) and shutil.disk_usage(folder).free < LITTLE
