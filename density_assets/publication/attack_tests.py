"""Summaries of attack tests: attacks on releases of synthetic people, as studies leave them."""

from collections.abc import Iterable
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


def attack_tests(studies: Path, allowed: Iterable[str]) -> list[AttackTest]:
    """Every attack test there is; those not allowed here are listed as not run, and their files are not opened.

    studies: the folder in which studies leave what they find.
    """
    may = set(allowed)
    return [
        AttackTest(name, title, _summary(studies / name) if name in may else None)
        for name, title in ATTACK_TESTS.items()
    ]


def _summary(folder: Path) -> str | None:
    """Of a test that is run for weeks, the newest."""
    summaries = [*folder.glob("summary.md"), *sorted(folder.glob("*/summary.md"))]
    return summaries[-1].read_text(encoding="utf-8") if summaries else None
