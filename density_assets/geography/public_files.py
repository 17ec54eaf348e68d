"""The files that a setting of the public geography names: one file, a folder of Parquet, or a pattern of either.

Folders are those that Spark writes: parts in folders such as `year=2023/month=1/day=2`, beside `_SUCCESS` and checksums
(`.part-0.parquet.crc`), which are no data.
"""

from collections.abc import Iterable
from pathlib import Path

from density_assets.errors import BadInput

PARQUET_SUFFIXES = {".parquet", ".pq", ".geoparquet"}
PARTS = "**/*.parquet"
WILD = "*?["


def public_files(path: Path) -> list[Path]:
    """The files a path stands for, in order; the path itself if there is nothing."""
    if path.is_dir():
        return _data(path, PARTS) or [path]
    if path.exists() or not any(mark in path.name or mark in str(path.parent) for mark in WILD):
        return [path]
    # Only what does not exist is a pattern: a folder may have brackets in its name.
    base = next(folder for folder in path.parents if folder.is_dir())
    return _data(base, str(path.relative_to(base))) or [path]


def refuse_nothing(files: Iterable[Path], what: str) -> None:
    """Raise unless each is a file."""
    for file in files:
        if not file.is_file():
            found = "a folder without Parquet files" if file.is_dir() else "nothing there"
            raise BadInput(f"{file}: the file of the {what} must exist, found {found}")


def is_parquet(file: Path) -> bool:
    """Whether a file is Parquet, by its name."""
    return file.suffix.lower() in PARQUET_SUFFIXES


def _data(base: Path, pattern: str) -> list[Path]:
    found = [file for file in base.glob(pattern) if file.is_file()]
    return sorted(file for file in found if not any(map(_no_data, file.relative_to(base).parts)))


def _no_data(name: str) -> bool:
    return name.startswith(("_", "."))
