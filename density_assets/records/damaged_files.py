"""Which of a week's files cannot be read, and what to do: looked for once reading them has failed.

A stream of many files does not say in which of them it broke, and its message may quote a record. So each file is read
once more by itself, to the end: whoever has to fetch files again learns of all of them at once.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq

from density_assets.damage import STREAM_DAMAGE
from density_assets.errors import BadInput, some
from density_assets.records.parquet_files import READING, ROWS
from density_assets.records.text_files import lines


@contextmanager
def named_if_damaged(files: Sequence[Path]) -> Iterator[None]:
    """Say which of the files are damaged in place of what a library says of the first one."""
    try:
        yield
    except STREAM_DAMAGE as error:
        raise unreadable(files, error) from None


def unreadable(files: Sequence[Path], error: Exception) -> BadInput:
    """The error to raise instead of that of a library, which nobody is shown: it may quote a value."""
    damaged = [f"{file} ({why})" for file in files if (why := _damage(file))]
    if not damaged:
        return BadInput(f"visit files must be readable, reading them gave {type(error).__name__}")
    return BadInput(
        f"visit files must be readable to their ends, {len(damaged):,} of {len(files):,} are not: {some(damaged)}. "
        "They were cut off or damaged on their way, or are not what their names say: copy or export them again"
    )


def _damage(file: Path) -> str:
    """What reading a file to its end gives; empty if nothing is wrong."""
    try:
        if file.suffix.lower() == ".parquet":
            with pq.ParquetFile(file, **READING) as opened:
                sum(len(batch) for batch in opened.iter_batches(ROWS, use_threads=False))
        else:
            sum(len(some_lines) for some_lines in lines(file))
    except STREAM_DAMAGE as error:
        # The system's own words speak of the file, those of a library may speak of its content.
        return error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
    return ""
