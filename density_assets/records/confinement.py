"""Where files of a person's own may lie: anywhere but among what this software keeps.

Read back as an input, a confidential table would pass for a public list, or one population's records for another's:
ways around the doors that the asset graph cannot see. Written to as a file of alerts, the ledger would be no more.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from density_assets.errors import BadInput
from density_assets.geography.lists import public_files
from density_assets.records.found_files import RecordFile
from density_assets.settings import Settings
from density_assets.settings.environment import SHARED_INSTANCE
from density_assets.settings.values import is_url

OURS = ("confidential", "release", "locks", "dagster")  # folders of a city under the home


def refuse_our_files(files: Iterable[RecordFile], home: Path, roots: Sequence[str] = ()) -> None:
    """Raise if a file, once links are followed, lies in a city's folder, is the ledger, or is a confidential week.

    roots: where confidential weeks of any city of the home are kept besides it.
    """
    here = [Path(root).resolve() for root in roots if not is_url(root)]
    for file in files:
        real = file.resolve() if isinstance(file, Path) else file
        ours = _is_ours(real, home.resolve(), here) if isinstance(real, Path) else _below_a_root(real, roots)
        if ours:
            raise BadInput(
                f"files of yours must not be what this software keeps, {str(file).rsplit('/', 1)[-1]} is {real}: "
                "point the settings at your own files"
            )


def _is_ours(file: Path, home: Path, roots: Iterable[Path]) -> bool:
    parts = file.relative_to(home).parts if file.is_relative_to(home) else ()
    ledger = any(part.startswith(("ledger.sqlite", "ledger.lock")) for part in parts[:1])
    history = parts[:1] == (SHARED_INSTANCE,)
    return bool(set(parts[1:2]) & set(OURS)) or ledger or history or any(file.is_relative_to(root) for root in roots)


def _below_a_root(file: str, roots: Iterable[str]) -> bool:
    return any(file.startswith(f"{root.rstrip('/')}/") for root in roots)


def named_files(settings: Settings) -> list[Path]:
    """The files that settings name: what the public geography and factors are read from, and where alerts go."""
    city = settings.city
    lists = [
        settings.path(file) for file in (city.cells, city.boundary, city.towers, city.footprints) if file is not None
    ]
    files = (city.regions, *settings.people.tables.values(), settings.alerts.file)
    return [*(file for path in lists for file in public_files(path)), *map(settings.path, filter(None, files))]
