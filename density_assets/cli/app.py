"""The typer app behind `density`, and what it does with errors.

Every command returns its exit status: 0, or 1 for something that does not hold or did not succeed, or 3 for what is
whole and may not be relied on: a release that nobody vouches for, a copy of a ledger. Whatever a person can mend, a bad
file or a mistyped option, is status 2 and a line on the terminal. Anything else is a fault of ours and shows Python's
own traceback: typer's prettier one would print local variables, which may hold records.
"""

import os
import sys
from collections.abc import Callable, Iterator

import typer
from typer.exceptions import TyperException

from density_assets.cli import books, looking, starting, studies, weeks
from density_assets.errors import BadInput
from density_assets.settings.environment import HOME, home_here

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_PANELS: dict[str, tuple[Callable[..., int], ...]] = {
    "Before the first release": (starting.init, looking.check, looking.plan, looking.dpia),
    "Weeks": (weeks.release, weeks.backfill, weeks.rebuild, weeks.final, weeks.evaluate, weeks.purge),
    "Budget and audit": (books.budget, books.verify, books.audit),
    "Ledger": (books.ledger, books.policy, books.approve, books.sign),
    "Studies": (studies.study, studies.technique, studies.results),
    "Looking": (looking.ask, looking.ui),
}
for _panel, _commands in _PANELS.items():
    for _command in _commands:
        app.command(rich_help_panel=_panel)(_command)


# typer calls this before it parses the command, and so before anything reads the environment.
@app.callback()
def density() -> None:
    """Release hourly population density of a city under differential privacy."""
    os.environ[HOME] = str(home_here())


def main() -> int:
    """Run the command that `sys.argv` names; returns its exit status."""
    try:
        # Not standalone: typer would end the process itself, and with 0 whatever the command returned.
        status: int = app(prog_name="density", standalone_mode=False)
        return status
    except BadInput as problem:
        return _refused(problem)
    except TyperException as problem:
        return _misused(problem)
    except Exception as problem:
        return _broken(problem)


def _refused(problem: object) -> int:
    print(f"error: {problem}", file=sys.stderr)
    return 2


def _broken(problem: Exception) -> int:
    """Say what a person can mend: a ledger that refuses, a full or closed disk; all else is a fault of ours."""
    import sqlite3

    from density_assets.privacy.charges import BudgetRefused
    from density_assets.privacy.policy import PolicyRefused
    from resources.faults import FAULTS, fault
    from resources.ledger.book import LedgerError

    if isinstance(problem, (LedgerError, BudgetRefused, PolicyRefused)):
        return _refused(problem)
    causes = list(_causes(problem))
    faults = (fault(cause, home_here()) for cause in causes if isinstance(cause, FAULTS))
    if said := next(filter(None, faults), None):
        return _refused(said)
    # Dagster alone uses these; what they say quotes statements and values.
    if any(type(cause).__module__.startswith(("sqlalchemy.", "dagster_postgres.")) for cause in causes):
        return _refused(
            f"Dagster's history must be there and let this program write, but it gave {type(problem).__name__}: look "
            "at the folder `dagster` of the city and at its disk, or at the database that [dagster] storage names, and "
            "start again. What is stored stays, and noise that was stored is not drawn again"
        )
    if isinstance(problem, sqlite3.Error):
        return _refused(f"the ledger and its copies must be SQLite files: {problem}")
    raise problem


def _causes(problem: BaseException | None) -> Iterator[BaseException]:
    """An error, what it was raised from, and so on: libraries wrap what a disk or a database says."""
    while problem is not None:
        yield problem
        problem = problem.__cause__


def _misused(problem: TyperException) -> int:
    """Say plainly how the command must be typed, without the frame that typer draws around it."""
    context: typer.Context | None = getattr(problem, "ctx", None)
    if context is not None:
        print(f"{context.get_usage()}\nSee {context.command_path} --help.", file=sys.stderr)
    print(f"error: {' '.join(problem.format_message().split())}", file=sys.stderr)
    return problem.exit_code
