"""The books: what releases have cost, and whether ledger, statements and files belong together."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from density_assets.cli.options import SettingsFile, Week, chosen_week
from density_assets.errors import BadInput


def budget(
    settings: SettingsFile = None,
    week: Week = None,
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", help="Of the releases to plan; by default that of the settings.")
    ] = None,
    weeks: Annotated[int, typer.Option("--weeks", help="How many releases to plan.")] = 52,
) -> int:
    """Say what releases have cost, what is left, and what plans would cost."""
    from density_assets.city import City
    from density_assets.publication.budget_report import budget_report

    city = City.here()
    planned = city.settings if epsilon is None else city.settings.with_epsilon(epsilon)
    print(budget_report(planned, city.ledger.rows(), str(chosen_week(week, city).year), weeks))
    return 0


def ledger(
    action: Annotated[Literal["verify", "backup", "restore"], typer.Argument(help="What to do.")],
    file: Annotated[Path | None, typer.Argument(help="The copy, for backup and restore.")] = None,
    settings: SettingsFile = None,
) -> int:
    """Verify, back up or restore the ledger."""
    import sqlite3

    from density_assets.city import home_here
    from resources.ledger.ledger import Ledger, LedgerError
    from resources.measurements import witnesses

    book, known = Ledger(home_here()), witnesses(home_here())
    try:
        if action == "backup":
            book.backup(_needed(file, action))
        elif action == "restore":
            book.restore(_needed(file, action), known)
        print(f"the ledger is whole: {book.verify(known)} charges, head {book.head()[:16]}")
    except LedgerError as problem:
        raise BadInput(str(problem)) from None
    except sqlite3.Error as problem:
        raise BadInput(f"the ledger and its copies must be SQLite files: {problem}") from None
    return 0


def verify(
    release: Annotated[Path, typer.Argument(help="Its privacy_statement_….json, or the folder that holds one.")],
    settings: SettingsFile = None,
) -> int:
    """Check that the files, the statement and the ledger of a release belong together."""
    from density_assets.publication.verification import verify_release

    findings = list(verify_release(release))
    for holds, finding in findings:
        print(f"{'ok ' if holds else 'NOT'}  {finding}")
    return 0 if all(holds for holds, _ in findings) else 1


def audit(settings: SettingsFile = None) -> int:
    """Make the auditor's page anew from the ledger and the releases."""
    from density_assets.city import City
    from density_assets.cli import runs

    return runs.audit(City.here())


def _needed(file: Path | None, action: str) -> Path:
    if file is None:
        raise BadInput(f"{action} needs the file of the copy")
    return file
