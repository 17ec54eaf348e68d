"""Commands on a disk nobody may write to: `unshare -rm python read_only.py <settings> <mount point>`, JSON of endings.

Runs in a mount namespace of its own, so the disk it mounts is seen by nobody else and ends with the process.
"""

import contextlib
import io
import json
import os
import subprocess
import sys
import traceback
from pathlib import Path

from density_assets.cli.app import main
from resources.tables.store import Store

WEEK = "2007-09-10"
COMMANDS = {
    "release": ["release", "--week", WEEK],
    "rebuild": ["rebuild", "--from", WEEK],
    "purge": ["purge", "--week", WEEK, "--force"],
    "audit": ["audit"],
    "check": ["check", "--week", WEEK],
    "budget": ["budget"],
}


def ended(settings: str, *command: str) -> tuple[int | None, str]:
    """The exit status of a command and what it said; none if it ended in an exception."""
    said = io.StringIO()
    sys.argv = ["density", *command, "--settings", settings]
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        try:
            return main(), said.getvalue()
        except BaseException:
            return None, traceback.format_exc()


if __name__ == "__main__":
    settings, place = sys.argv[1], Path(sys.argv[2])
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "closed", str(place)], check=True)
    homes = {"empty": place / "empty", "lived in": place / "lived_in"}
    homes["empty"].mkdir()
    Store(homes["lived in"], "town")
    subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
    endings = {}
    for name, home in homes.items():
        os.environ["DENSITY_HOME"] = str(home)
        endings[name] = {command: ended(settings, *words) for command, words in COMMANDS.items()}
    print(json.dumps(endings))
