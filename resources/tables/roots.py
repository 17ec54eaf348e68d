"""Where the confidential weeks of a home lie besides its own folders: every place that was ever used is noted.

Settings change; what was written stays until it is erased. So erasing looks at all of them, no released step may open
one, and no input may come from one, whatever the settings of today say.
"""

import json
from pathlib import Path

from density_assets.settings.values import is_url
from resources.tables.files import private_files, write_durably

NOTED = "weeks_at.json"


def note_root(confidential: Path, root: str) -> None:
    """Note where weeks of a city are going to lie."""
    known = roots_of(confidential)
    if root not in known:
        with private_files():
            write_durably(confidential / NOTED, json.dumps([*known, root]).encode())


def roots_of(confidential: Path) -> list[str]:
    """Every place where weeks of a city were ever kept, its home aside."""
    file = confidential / NOTED
    return [str(root) for root in json.loads(file.read_bytes())] if file.exists() else []


def roots_under(home: Path) -> list[str]:
    """Those of all cities of a home."""
    return [root for folder in sorted(home.glob("*/confidential")) for root in roots_of(folder)]


def folders_under(home: Path) -> list[Path]:
    """Those that are folders of this machine."""
    return [Path(root) for root in roots_under(home) if not is_url(root)]
