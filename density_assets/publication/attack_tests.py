"""Summaries of attack tests: attacks on releases of synthetic people, as studies leave them."""

from dataclasses import dataclass
from pathlib import Path

ATTACK_TESTS = {
    "epsilon_audit": "How much the mechanism really reveals: a lower bound on epsilon from many draws",
    "membership_audit": "Whether an attacker can tell that a person was in the data",
    "recovery_audit": "Whether trajectories can be recovered from released counts",
}


@dataclass(frozen=True)
class AttackTest:
    """What an attack test asked and, if it was run, what it found (Markdown)."""

    name: str
    title: str
    summary: str | None


def attack_tests(studies: Path) -> list[AttackTest]:
    """Return every attack test there is, with what it found if it was run.

    studies: the folder in which studies leave what they find.

    Guarantees: their people are invented (`Study` refuses an attack test that reads a table of the city), so what they
    find may be shown of real people's releases, too.
    """
    return [AttackTest(name, title, _summary(studies / name)) for name, title in ATTACK_TESTS.items()]


def _summary(folder: Path) -> str | None:
    """Of a test that is run for weeks, the newest."""
    summaries = [*folder.glob("summary.md"), *sorted(folder.glob("*/summary.md"))]
    return summaries[-1].read_text(encoding="utf-8") if summaries else None
