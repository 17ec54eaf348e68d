"""`python -m tests.mutation`: make every small fault there is in the code that keeps the promise, and see who notices.

    python -m tests.mutation                            all that have not been run since their file last changed
    python -m tests.mutation privacy/noise              those of files whose name holds this
    python -m tests.mutation --again privacy/noise      survivors once more, after a test was added
    python -m tests.mutation --list privacy/noise       what would be changed
    python -m tests.mutation --table                    write the table of README.md

Ends with status 1 if a mutant lives that survivors.toml does not explain. Other work goes first: run it with nice.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.mutation import python_mutants, results, sql_mutants
from tests.mutation.results import Outcome
from tests.mutation.runner import Shadow, warm_up
from tests.mutation.targets import TARGETS, Target


def main() -> int:
    """Run what was asked for; returns the status to end with."""
    asked = argparse.ArgumentParser(prog="python -m tests.mutation")
    asked.add_argument("part", nargs="*", help="part of a file's name")
    asked.add_argument("--again", action="store_true", help="run survivors once more")
    asked.add_argument("--list", action="store_true", help="print mutants, run nothing")
    asked.add_argument("--table", action="store_true", help="write README.md, run nothing")
    options = asked.parse_args()
    chosen = [target for target in TARGETS if not options.part or any(part in target.file for part in options.part)]
    if options.list:
        for target in chosen:
            for mutant in mutants(target):
                print(f"{target.file}:{mutant.line} {mutant.place}: {mutant.change}")
        return 0
    if options.table:
        results.write_readme(_current(TARGETS))
        return 0
    run(chosen, again=options.again)
    return report(chosen)


def mutants(target: Target) -> list[python_mutants.Mutant]:
    """All mutants of a file."""
    source = Path(target.file).read_text()
    return list(sql_mutants.mutants(source) if target.sql else python_mutants.mutants(source, target.skip))


def run(targets: list[Target], *, again: bool) -> None:
    """Run what is not known yet, telling how far it is."""
    warm_up()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        shadow = Shadow(Path(folder))
        for target in targets:
            if pending := list(_pending(target, again=again)):
                _run_all(shadow, target, pending)


def _pending(target: Target, *, again: bool) -> Iterator[tuple[python_mutants.Mutant, Outcome]]:
    """Mutants whose outcome is not known, with an outcome to fill in; survivors too, if asked for again."""
    known, source = results.known(), results.digest(Path(target.file).read_text())
    for mutant in mutants(target):
        outcome = Outcome(target.file, source, mutant.place, mutant.line, mutant.change, mutant.nth, "")
        before = known.get(outcome.name)
        if before is None or (again and not before.killed_by):
            yield mutant, outcome


def _run_all(shadow: Shadow, target: Target, pending: list[tuple[python_mutants.Mutant, Outcome]]) -> None:
    text = Path(target.file).read_text()
    whole = sql_mutants.unchanged(text) if target.sql else python_mutants.unchanged(text)
    began = time.monotonic()
    passes, said = shadow.passes(target.file, whole, target.tests, 3_600)
    if not passes:
        sys.exit(f"the tests of {target.file} must pass before it is mutated: {said}")
    patience = 60 + 10 * (time.monotonic() - began)
    for number, (mutant, outcome) in enumerate(pending, start=1):
        lives, killer = shadow.passes(target.file, mutant.source, target.tests, patience)
        results.keep(Outcome(**{**vars(outcome), "killed_by": "" if lives else killer}))
        fate = "LIVES" if lives else "killed"
        print(f"{target.file} {number}/{len(pending)} {fate} {mutant.place}: {mutant.change}", flush=True)


def _current(targets: list[Target]) -> list[Outcome]:
    known = results.known()
    return [one for target in targets for one in known.values() if one.file == target.file]


def report(targets: list[Target]) -> int:
    """Say what lives and is not explained."""
    outcomes = _current(targets)
    unexplained = [one for one in outcomes if not one.killed_by and results.explanation(one) is None]
    for one in unexplained:
        print(f"lives, unexplained: {one.file}:{one.line} {one.place}: {one.change}")
    killed = sum(bool(one.killed_by) for one in outcomes)
    print(f"{len(outcomes)} mutants, {killed} killed, {len(unexplained)} live and are not explained")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
