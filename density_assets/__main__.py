"""Commands behind the Makefile: `python -m density_assets <command>`."""

import argparse
import os
import sys
from pathlib import Path

from density_assets.errors import BadInput


def main() -> int:
    """Run one command; a problem a person can mend is one line on the terminal, not a traceback."""
    arguments = _parser().parse_args()
    os.environ["DENSITY_HOME"] = str(Path(os.environ.get("DENSITY_HOME") or "data").absolute())
    if arguments.settings:
        os.environ["DENSITY_SETTINGS"] = str(arguments.settings.absolute())
    try:
        return _COMMANDS[arguments.command](arguments)
    except BadInput as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="density_assets", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in {
        "release": "materialise one week, from records to everything derived from them",
        "check": "look at a city's own files and say what is there, without running anything",
        "ui": "serve the Dagster web UI on this machine",
    }.items():
        command = commands.add_parser(name, help=text)
        command.add_argument("--settings", type=Path, help="TOML file; without it, the embedded city")
        if name in ("release", "check"):
            command.add_argument("--week", help="the Monday of the week; by default the city's first")
        if name == "ui":
            command.add_argument("--port", type=int, default=3000)
    return parser


# Commands import what they need when they run: `--help` must not wait for Dagster.
def _release(arguments: argparse.Namespace) -> int:
    from resources.instance import release_week

    return release_week(arguments.week)


def _check(arguments: argparse.Namespace) -> int:
    from density_assets.cities.inspection import inspect
    from density_assets.settings import load_settings

    print(inspect(load_settings(arguments.settings), arguments.week))
    return 0


def _ui(arguments: argparse.Namespace) -> int:
    from resources.instance import serve

    return serve(arguments.port)


_COMMANDS = {"release": _release, "check": _check, "ui": _ui}

if __name__ == "__main__":
    sys.exit(main())
