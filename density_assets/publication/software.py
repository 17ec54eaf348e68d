"""Which software made something: versions of what matters, and the commit it was built from."""

import os
import subprocess
from functools import cache
from importlib.metadata import version
from pathlib import Path
from platform import python_version

PACKAGES = ("density-assets", "dagster", "opendp", "dp-accounting", "duckdb", "numpy", "scipy", "polars")
COMMIT = "DENSITY_COMMIT"  # in the environment of an installation that has no repository around it
UNKNOWN = "unknown"


def software() -> dict[str, str]:
    """Versions by name, with the commit of this software."""
    return {"commit": commit(), "python": python_version(), **{name: version(name) for name in PACKAGES}}


@cache
def commit() -> str:
    """The commit the code was taken from, marked if it was changed since; `unknown` where nothing says."""
    if given := os.environ.get(COMMIT):
        return given
    source = Path(__file__).parents[2]
    if not (source / ".git").exists():
        return UNKNOWN
    head, changed = _git(source, "rev-parse", "HEAD"), _git(source, "status", "--porcelain", "--untracked-files=no")
    return f"{head}{' with changes' if changed else ''}" if head else UNKNOWN


def _git(source: Path, *asked: str) -> str:
    try:
        command = ["git", "-C", str(source), *asked]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
