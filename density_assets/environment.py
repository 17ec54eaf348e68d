"""Where the environment says that everything is kept. Light, because every command asks before it does anything."""

import os
from pathlib import Path

from density_assets.errors import BadInput

HOME = "DENSITY_HOME"


def home_here() -> Path:
    """The folder the environment names for everything that is kept."""
    home = Path(os.environ.get(HOME) or "data").absolute()
    if any(path.exists() and not path.is_dir() for path in (home, *home.parents)):
        raise BadInput(f"{HOME} must name a folder, or a place where one can be made; got {home}")
    return home
