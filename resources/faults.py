"""What broke, in words a person can act on: full disks, too little memory.

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
LITTLE = 2**20  # bytes; SQLite asks for less at a time
FAULTS = (OSError, duckdb.Error, sqlite3.OperationalError)


@contextmanager
def in_clear_words(folder: Path) -> Iterator[None]:
    """Say of a full disk or of too little memory what to do, and let every other error through."""
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
    if isinstance(error, duckdb.OutOfMemoryException):
        return BadInput(
            "the database must get by with engine.memory, but it did not: raise it, or lower engine.threads or "
            "engine.rows_per_bucket, and start again"
        )
    return None


def _full(error: Exception, folder: Path) -> bool:
    if getattr(error, "errno", None) in FULL or any(words in str(error) for words in FULL_WORDS):
        return True
    # SQLite gives this name also to a file it could not make longer, and to a broken disk: look which it is.
    return "disk I/O error" in str(error) and shutil.disk_usage(folder).free < LITTLE
