"""The Java that Spark would be started with: one that is missing or too old ends in words that name neither."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from density_assets.errors import BadInput

LEAST = 17
STARTING = 60  # seconds; it takes a tenth of one


def refuse_without_java() -> None:
    """Raise unless there is a Java that is new enough. One that does not say how old it is may be tried."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home, "bin")) if home else None)
    if not java:
        found = f"JAVA_HOME={home} has none" if home else "there is none on the path"
    elif (version := _version(java)) and version < LEAST:
        found = f"{java} is Java {version}"
    else:
        return
    raise BadInput(
        f'engine.name = "spark" needs Java {LEAST} or newer, {found}: install it (Debian: '
        f"openjdk-{LEAST}-jre-headless), or set JAVA_HOME"
    )


def _version(java: str) -> int | None:
    """The first number of a version; up to 8 it was the second, after a 1."""
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=STARTING, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    said = re.search(r'version "(?:1\.)?(\d+)', done.stderr)
    return int(said[1]) if said else None
