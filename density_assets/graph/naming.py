"""What Dagster knows the things of a city by.

Alone in its instance a city's assets, jobs and groups have plain names, as they always had: history, switches and
lineage stay. Where cities share an instance, each puts its own name before: `paris/density`, `paris_weekly_release`.
"""

from pathlib import Path

import dagster as dg

from density_assets.city import City
from density_assets.settings.environment import SHARED_INSTANCE


def key(city: City, asset: str) -> dg.AssetKey:
    """An asset of a city."""
    return dg.AssetKey([city.name, asset] if city.others else [asset])


def own(city: City, name: str) -> str:
    """A job, op, schedule, sensor or group of a city; their names may hold no hyphen."""
    return f"{identifier(city.name)}_{name}" if city.others else name


def identifier(city: str) -> str:
    """The name of a city where there may be no hyphen."""
    return city.replace("-", "_")


def everything(city: City) -> dg.AssetSelection:
    """All assets of a city."""
    return dg.AssetSelection.key_prefixes([city.name]) if city.others else dg.AssetSelection.all()


def instance_folder(city: City) -> Path:
    """Where Dagster keeps the history of a city: beside its tables, or in the home for all that share it."""
    return city.home / SHARED_INSTANCE if city.others else city.home / city.name / "dagster"
