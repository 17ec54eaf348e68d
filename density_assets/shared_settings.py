"""Which cities the environment names: one, or several that share a Dagster instance and, as their people do, a ledger.

`DENSITY_SETTINGS` names the settings file of the city that a command is about; without it that is the embedded city.
`DENSITY_CITIES` names those of all cities of an instance, or a folder of them. Then a command is about one of these.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from density_assets.environment import CITIES, SETTINGS, shared_files
from density_assets.errors import BadInput
from density_assets.settings import Settings, load_settings


def all_settings_here() -> list[Settings]:
    """Those of all cities of the instance."""
    return list(_shared().values()) or [_alone()]


def settings_here() -> tuple[Settings, tuple[Settings, ...]]:
    """Those of the city that is meant, and of the others of its instance."""
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
    """All but one."""
    return tuple(settings for settings in every if settings is not chosen)


def _alone() -> Settings:
    named = os.environ.get(SETTINGS)
    return load_settings(Path(named) if named else None)


def _shared() -> dict[Path, Settings]:
    """By file; none if the environment lists none."""
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
