"""The typer app behind `density`, and what it does with errors.

Every command returns its exit status: 0, or 1 for something that does not hold or did not succeed, or 3 for a release
that nobody vouches for. Whatever a person can mend, a bad file or a mistyped option, is status 2 and a line on the
terminal. Anything else is a fault of ours and shows Python's own traceback: typer's prettier one would print local
variables, which may hold records.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import typer
from typer.exceptions import TyperException

from density_assets.cli import books, keeping, looking, studies, weeks
from density_assets.errors import BadInput

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_PANELS: dict[str, tuple[Callable[..., int], ...]] = {
    "Weeks": (weeks.release, weeks.backfill, weeks.rebuild, weeks.evaluate, weeks.purge),
    "Budget and audit": (books.budget, books.verify, books.audit),
    "Ledger": (keeping.ledger, keeping.policy, keeping.approve, keeping.sign),
    "Studies": (studies.study, studies.results),
    "Looking": (looking.check, looking.ui),
}
for _panel, _commands in _PANELS.items():
    for _command in _commands:
        app.command(rich_help_panel=_panel)(_command)


# typer calls this before it parses the command, and so before anything reads the environment.
@app.callback()
def density() -> None:
    """Release hourly population density of a city under differential privacy."""
    os.environ["DENSITY_HOME"] = str(Path(os.environ.get("DENSITY_HOME") or "data").absolute())


def main() -> int:
    """Run the command that `sys.argv` names; returns its exit status."""
    try:
        # Not standalone: typer would end the process itself, and with 0 whatever the command returned.
        status: int = app(prog_name="density", standalone_mode=False)
        return status
    except BadInput as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    except TyperException as problem:
        return _misused(problem)
    except Exception as problem:
        return _broken(problem)


def _broken(problem: Exception) -> int:
    """Say what a person can mend: a disk that is full or closed, too little memory; all else is a fault of ours."""
    from resources.faults import FAULTS, fault

    said = fault(problem, Path(os.environ["DENSITY_HOME"])) if isinstance(problem, FAULTS) else None
    if said is None:
        raise problem
    print(f"error: {said}", file=sys.stderr)
    return 2


def _misused(problem: TyperException) -> int:
    """Say plainly how the command must be typed, without the frame that typer draws around it."""
    context: typer.Context | None = getattr(problem, "ctx", None)
    if context is not None:
        print(f"{context.get_usage()}\nSee {context.command_path} --help.", file=sys.stderr)
    print(f"error: {' '.join(problem.format_message().split())}", file=sys.stderr)
    return problem.exit_code
