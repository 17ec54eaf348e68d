"""Where files of a person's own may lie: anywhere but among what this software keeps.

Read back as an input, a confidential table would pass for a public list, or one population's records for another's:
ways around the doors that the asset graph cannot see. Written to as a file of alerts, the ledger would be no more.
"""

from collections.abc import Iterable
from pathlib import Path

from density_assets.errors import BadInput
from density_assets.records.found_files import RecordFile
from density_assets.settings import Settings

KEPT = ("confidential", "release", "locks", "dagster")  # folders of a city under the home


def refuse_kept(files: Iterable[RecordFile], home: Path, weeks: str | None = None) -> None:
    """Raise if a file, once links are followed, lies in a city's folder or is the ledger.

    weeks: where confidential weeks are kept, if that is not the home.
    """
    root = home.resolve()
    for file in files:
        if weeks and str(file.resolve() if isinstance(file, Path) else file).startswith(f"{weeks.rstrip('/')}/"):
            raise BadInput(
                f"files of yours must not be what this software keeps at {weeks}: point the settings at your own"
            )
        if isinstance(file, str):
            continue
        real = file.resolve()
        parts = real.relative_to(root).parts if real.is_relative_to(root) else ()
        if set(parts[1:2]) & set(KEPT) or any(part.startswith(("ledger.sqlite", "ledger.lock")) for part in parts[:1]):
            raise BadInput(
                f"files of yours must not be what this software keeps, {file.name} is {real}: "
                "point the settings at your own files"
            )


def named_files(settings: Settings) -> list[Path]:
    """The files that settings name: what the public geography is read from, and where alerts go."""
    named = (settings.city.cells, settings.city.towers, settings.alerts.file)
    return [settings.path(file) for file in named if file is not None]
