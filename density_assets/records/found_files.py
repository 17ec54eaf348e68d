"""Finding a week's files of records: on this machine by a pattern of paths, elsewhere by a pattern of a URL."""

import glob
from datetime import date
from pathlib import Path

from fsspec import AbstractFileSystem
from fsspec.core import url_to_fs

from density_assets.errors import BadInput
from density_assets.setting_types import is_url

RecordFile = Path | str  # of this machine, or the URL of one elsewhere
SUCCESS = "_SUCCESS"


def record_files(pattern: str, week: date, folder: Path) -> list[RecordFile]:
    """The files of a week, in order; none only if `_SUCCESS` says that the empty week is complete."""
    named = pattern.replace("{week}", str(week))
    files = _there(named) if is_url(pattern) else _here(_glob(pattern, week, folder))
    if not files and not is_complete(pattern, week, folder):
        raise BadInput(
            f"the week of {week} must have visit files (or _SUCCESS beside none, for an empty week); "
            f"found none at {named if is_url(pattern) else _glob(pattern, week, folder)}: check city.visits"
        )
    return files


def is_complete(pattern: str, week: date, folder: Path) -> bool:
    """Whether `_SUCCESS` lies beside the files of a week."""
    if is_url(pattern):
        system, inside = store_of(pattern.replace("{week}", str(week)).rsplit("/", 1)[0])
        folders = system.glob(inside)
        return bool(folders) and all(system.exists(f"{name}/{SUCCESS}") for name in folders)
    folders = glob.glob(str(Path(_glob(pattern, week, folder)).parent), recursive=True)
    return bool(folders) and all((Path(name) / SUCCESS).exists() for name in folders)


def _here(path: str) -> list[RecordFile]:
    files = sorted(Path(name) for name in glob.glob(path, recursive=True))
    return [file for file in files if file.is_file() and _is_data(file.name)]


def _there(url: str) -> list[RecordFile]:
    system, inside = store_of(url)
    found = system.glob(inside, detail=True)
    names = sorted(name for name, about in found.items() if about["type"] == "file")
    return [system.unstrip_protocol(name) for name in names if _is_data(name.rsplit("/", 1)[-1])]


def _is_data(name: str) -> bool:
    return not name.startswith(("_", "."))


def store_of(url: str, setting: str = "city.visits") -> tuple[AbstractFileSystem, str]:
    """What opens the store of a URL, and the name inside it; it remembers no listing, because others write there.

    setting: which one names the URL.
    """
    try:
        system, inside = url_to_fs(url, use_listings_cache=False, skip_instance_cache=True)
    except (ImportError, ValueError) as error:
        raise BadInput(
            f"{setting} must lie in a store that is known, {url} gave {type(error).__name__}: for S3 "
            "`pip install density-assets[s3]`, for others the package that fsspec names"
        ) from None
    return system, inside


def _glob(pattern: str, week: date, folder: Path) -> str:
    """Only the pattern of the settings has wildcards, not the folder they lie in."""
    return str(Path(glob.escape(str(folder))) / pattern.replace("{week}", str(week)))
