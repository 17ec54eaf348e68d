"""Where the environment says that everything is kept. Light, because every command asks before it does anything."""

import os
from pathlib import Path

HOME = "DENSITY_HOME"


def home_here() -> Path:
    """The folder the environment names for everything that is kept."""
    return Path(os.environ.get(HOME) or "data").absolute()
