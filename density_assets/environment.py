"""What the environment says: where everything is kept, and which cities there are. Light: every command asks first."""

import os
from pathlib import Path

from density_assets.errors import BadInput

HOME, SETTINGS, CITIES = "DENSITY_HOME", "DENSITY_SETTINGS", "DENSITY_CITIES"
SHARED_INSTANCE = "_dagster"  # folder of a home, for cities that share an instance; no city can be called so


def home_here() -> Path:
    """The folder the environment names for everything that is kept."""
    home = Path(os.environ.get(HOME) or "data").absolute()
    if any(path.exists() and not path.is_dir() for path in (home, *home.parents)):
        raise BadInput(f"{HOME} must name a folder, or a place where one can be made; got {home}")
    return home


def shared_files() -> list[Path]:
    """The settings files of cities that share a Dagster instance: those that are listed, or lie in a folder."""
    files: list[Path] = []
    for named in map(Path, filter(None, os.environ.get(CITIES, "").split(os.pathsep))):
        found = sorted(named.glob("*.toml")) if named.is_dir() else [named]
        if not found:
            raise BadInput(f"{CITIES} must name settings files, or folders with *.toml in them; {named} holds none")
        files += found
    return files
