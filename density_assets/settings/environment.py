"""What the environment says: where everything is kept, and which cities there are.

There is one city, or several that share a Dagster instance and, as their people do, a ledger. `DENSITY_HOME` names the
folder where everything is kept. `DENSITY_SETTINGS` names the settings file of the city that a command is about; without
it that is the embedded city. `DENSITY_CITIES` names those of all cities of an instance, or a folder of them; then a
command is about one of these.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from density_assets.errors import BadInput
from density_assets.settings import Settings, load_settings

HOME, SETTINGS, CITIES = "DENSITY_HOME", "DENSITY_SETTINGS", "DENSITY_CITIES"
SHARED_INSTANCE = "_dagster"  # folder of a home, for cities that share an instance; no city can be called so


def home_here() -> Path:
    """Return the folder the environment names for everything that is kept."""
    home = Path(os.environ.get(HOME) or "data").absolute()
    if any(path.exists() and not path.is_dir() for path in (home, *home.parents)):
        raise BadInput(f"{HOME} must name a folder, or a place where one can be made; got {home}")
    return home


def shared_files() -> list[Path]:
    """Return the settings files of cities that share a Dagster instance: those that are listed, or lie in a folder."""
    files: list[Path] = []
    for named in map(Path, filter(None, os.environ.get(CITIES, "").split(os.pathsep))):
        listed = sorted(named.glob("*.toml")) if named.is_dir() else [named]
        if not listed:
            raise BadInput(f"{CITIES} must name settings files, or folders with *.toml in them; {named} holds none")
        files += listed
    return files


def all_settings_here() -> list[Settings]:
    """Return the settings of all cities of the instance."""
    return list(_shared().values()) or [_alone()]


def settings_here() -> tuple[Settings, tuple[Settings, ...]]:
    """Return the settings of the city that is meant, and of the others of its instance."""
    shared = _shared()
    if not shared:
        return _alone(), ()
    named = os.environ.get(SETTINGS)
    chosen = shared.get(Path(named).resolve()) if named else None
    if chosen is None:
        raise BadInput(
            f"one of the cities that {CITIES} lists must be meant ({', '.join(map(str, shared))}), got "
            f"{named or 'none'}: name its file with --settings"
        )
    return chosen, others(chosen, list(shared.values()))


def others(chosen: Settings, every: Sequence[Settings]) -> tuple[Settings, ...]:
    """Return all but one."""
    return tuple(settings for settings in every if settings is not chosen)


def _alone() -> Settings:
    named = os.environ.get(SETTINGS)
    return load_settings(Path(named) if named else None)


def _shared() -> dict[Path, Settings]:
    shared = {file.resolve(): load_settings(file) for file in shared_files()}
    for settings in shared.values():
        for other in others(settings, list(shared.values())):
            _refuse_apart(settings, other)
    return shared


def _refuse_apart(settings: Settings, other: Settings) -> None:
    """Raise if two cities cannot share an instance."""
    name, second = settings.city.name, other.city.name
    if name.replace("-", "_") == second.replace("-", "_"):
        raise BadInput(f"cities of one instance must differ in name, got {name!r} and {second!r}: rename one")
    if settings.ledger.url != other.ledger.url:
        raise BadInput(
            f"cities of one instance must share one ledger, because budgets follow people, but [ledger] url of {name} "
            f"is not that of {second}: give both the same, or neither any"
        )
    if settings.dagster.storage != other.dagster.storage:
        raise BadInput(
            f"cities of one instance must keep their history in one place, but [dagster] storage of {name} is not that "
            f"of {second}: give both the same, or neither any"
        )
