"""Commands behind the Makefile: `python -m density_assets <command>`."""

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from density_assets.errors import BadInput, nearest

if TYPE_CHECKING:
    from density_assets.research.study import Source


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

    def command(name: str, text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text)
        added.add_argument("--settings", type=Path, help="TOML file; without it, the embedded city")
        return added

    monday = "the Monday of the week; by default the city's first"
    command("release", "materialise one week, end to end").add_argument("--week", help=monday)
    command("check", "say what a city's own files hold, without running anything").add_argument("--week", help=monday)
    for name, text in (
        ("backfill", "release one week after another, until the first that is refused"),
        ("rebuild", "make tables and files of released weeks again from stored draws, at no charge"),
    ):
        several = command(name, text)
        several.add_argument("--from", dest="first", required=name == "backfill", help="the first Monday")
        several.add_argument("--to", dest="last", required=name == "backfill", help="the last Monday")
    ui = command("ui", "serve the Dagster web UI on this machine")
    ui.add_argument("--port", type=int, default=3000)
    ui.add_argument("--read-only", action="store_true", help="for auditors: nothing can be started or changed")
    budget = command("budget", "what releases have cost, what is left, and what plans would cost")
    budget.add_argument("--week", help=monday)
    budget.add_argument("--epsilon", type=float, help="of the releases to plan; by default that of the settings")
    budget.add_argument("--weeks", type=int, default=52, help="how many releases to plan")
    verify = command("verify", "check that the files, the statement and the ledger of a release belong together")
    verify.add_argument("release", type=Path, help="its privacy_statement_….json, or the folder that holds one")
    command("audit", "make the auditor's page anew from the ledger and the releases")
    study = command("study", "answer one question with seeded repetitions: table, figures, summary")
    study.add_argument("name")
    study.add_argument("--week", help=monday)
    study.add_argument("--repetitions", type=int, help="by default as many as the study declares, mostly 20")
    study.add_argument("--data", type=Path, help="files of traces, for studies that can use them")
    results = command("results", "run studies and write the results page with their tables and figures")
    results.add_argument("--week", help=monday)
    results.add_argument("--repetitions", type=int, help="by default as many as each study declares")
    results.add_argument("--studies", nargs="*", default=[], help="by default those of releases of the city's week")
    results.add_argument("--page", type=Path, default=Path("docs/results.md"))
    purge = command("purge", "erase the confidential zone of a week that is released")
    purge.add_argument("--week", required=True, help="the Monday of the week")
    purge.add_argument("--force", action="store_true", help="erase it even if its release is not complete")
    ledger = command("ledger", "verify, back up or restore the ledger")
    ledger.add_argument("action", choices=("verify", "backup", "restore"))
    ledger.add_argument("file", type=Path, nargs="?", help="the copy, for backup and restore")
    return parser


# Commands import what they need when they run: `--help` must not wait for Dagster.
def _release(arguments: argparse.Namespace) -> int:
    from density_assets.graph.terminal import release_week

    return release_week(arguments.week)


def _backfill(arguments: argparse.Namespace) -> int:
    from density_assets.graph.terminal import backfill

    return backfill(arguments.first, arguments.last)


def _rebuild(arguments: argparse.Namespace) -> int:
    from density_assets.graph.terminal import rebuild

    return rebuild(arguments.first, arguments.last)


def _check(arguments: argparse.Namespace) -> int:
    from density_assets.cli.inspection import inspect
    from density_assets.settings import load_settings

    print(inspect(load_settings(arguments.settings), arguments.week, _home()))
    return 0


def _ui(arguments: argparse.Namespace) -> int:
    from density_assets.graph.instance import serve

    return serve(arguments.port, read_only=arguments.read_only)


def _budget(arguments: argparse.Namespace) -> int:
    from density_assets.calendar import parse_week
    from density_assets.publication.budget_report import budget_report
    from density_assets.settings import load_settings
    from resources.ledger.ledger import Ledger

    settings = load_settings(arguments.settings)
    if arguments.epsilon is not None:
        settings = settings.with_epsilon(arguments.epsilon)
    week = parse_week(arguments.week) if arguments.week else settings.city.first_week
    print(budget_report(settings, Ledger(_home()).rows(), str(week.year), arguments.weeks))
    return 0


def _ledger(arguments: argparse.Namespace) -> int:
    import sqlite3

    from resources.ledger.ledger import Ledger, LedgerError
    from resources.measurements import witnesses

    ledger, known = Ledger(_home()), witnesses(_home())
    if arguments.action != "verify" and arguments.file is None:
        raise BadInput(f"{arguments.action} needs the file of the copy")
    try:
        if arguments.action == "backup":
            ledger.backup(arguments.file)
        elif arguments.action == "restore":
            ledger.restore(arguments.file, known)
        print(f"the ledger is whole: {ledger.verify(known)} charges, head {ledger.head()[:16]}")
    except LedgerError as problem:
        raise BadInput(str(problem)) from None
    except sqlite3.Error as problem:
        raise BadInput(f"the ledger and its copies must be SQLite files: {problem}") from None
    return 0


def _purge(arguments: argparse.Namespace) -> int:
    from density_assets.graph.terminal import purge_week

    return purge_week(arguments.week, force=arguments.force)


def _verify(arguments: argparse.Namespace) -> int:
    from density_assets.publication.verification import verify_release

    findings = list(verify_release(arguments.release))
    for holds, finding in findings:
        print(f"{'ok ' if holds else 'NOT'}  {finding}")
    return 0 if all(holds for holds, _ in findings) else 1


def _audit(_: argparse.Namespace) -> int:
    from density_assets.graph.terminal import audit

    return audit()


def _study(arguments: argparse.Namespace) -> int:
    from density_assets.graph.console import say
    from density_assets.research.studies import STUDIES
    from density_assets.research.study import conduct

    if arguments.name not in STUDIES:
        known = ", ".join(STUDIES)
        raise BadInput(f"a study must be one of {known}; got {arguments.name!r}{nearest(arguments.name, STUDIES)}")
    study, source = STUDIES[arguments.name], _source(arguments, arguments.data)
    outcome = conduct(study, source, arguments.repetitions or study.repetitions, say)
    print(f"{outcome.summary}\n{outcome.folder}")
    return 0


def _results(arguments: argparse.Namespace) -> int:
    from density_assets.research.results import write_results

    write_results(_source(arguments, None), arguments.studies, arguments.repetitions, arguments.page)
    print(arguments.page)
    return 0


def _source(arguments: argparse.Namespace, data: Path | None) -> "Source":
    """The city and week the arguments name, as studies take them."""
    from density_assets.calendar import parse_week
    from density_assets.graph.console import say
    from density_assets.research.study import Source
    from density_assets.settings import load_settings
    from resources.tables.stamps import stamp_values
    from resources.tables.store import Store

    settings = load_settings(arguments.settings)
    store = Store(_home(), settings.city.name, stamp_values(settings))
    week = parse_week(arguments.week) if arguments.week else settings.city.first_week
    return Source(settings, store, week, data, say)


def _home() -> Path:
    return Path(os.environ["DENSITY_HOME"])


_COMMANDS = {
    "release": _release,
    "backfill": _backfill,
    "rebuild": _rebuild,
    "check": _check,
    "ui": _ui,
    "budget": _budget,
    "ledger": _ledger,
    "verify": _verify,
    "audit": _audit,
    "study": _study,
    "results": _results,
    "purge": _purge,
}

if __name__ == "__main__":
    sys.exit(main())
