"""The audit page: every release of a population and what it cost, on one page that loads nothing.

It is handed out with the releases, so it holds what the ledger, the statements and the asset graph say, and nothing
computed from records. This module turns them into the words of the page; how they are laid out is in
templates/audit.html and audit.css, and the rest is shared with the page of a release.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from density_assets.publication.assessment import HAZARDS, AttackTest
from density_assets.publication.pages.svg import Node, lineage, spending_chart
from density_assets.publication.pages.templates import render
from density_assets.publication.register import Entry
from density_assets.publication.spending import Change, Decision, Spending, count_noun

WITHHELD = "withheld"
PERIODS = {
    "week": "the newest week",
    "rolling_year": "the 52 weeks with it that cost most",
    "lifetime": "all weeks so far",
}
OUTCOMES = {"passed": "good", "failed": "bad", "warned": "warn", "not run": "none", WITHHELD: "none"}


@dataclass(frozen=True)
class Checked:
    """The newest outcome of an asset check, one of `OUTCOMES`, and what the check is about."""

    asset: str
    name: str
    about: str
    outcome: str
    at: str = ""


@dataclass(frozen=True)
class AuditData:
    """What the page shows.

    folder: where the page will lie; links are relative to it.
    ledger_problem: why the ledger cannot be trusted; none if it is whole.
    budget_problem: why the settings of the city cannot be released under; empty if they can.
    fingerprint: of the key that releases are signed with; empty where the ledger has none.
    years: what each calendar year has cost, at `budget_delta`.
    software: name and version of what the results depend on; mechanisms: scheme and version.
    for_a_person: what the charges mean for somebody, by period and number of identifiers.
    decisions, changes: what people decided, and what is otherwise from one release to the next.
    policy: the text of the policy in force; empty if there is none.
    """

    city: str
    population: str
    made: str
    folder: Path
    releases: Sequence[Entry]
    charges: int
    ledger_head: str
    ledger_problem: str | None
    fingerprint: str
    years: Sequence[Spending]
    budget_epsilon: float
    budget_delta: float
    nodes: Sequence[Node]
    checks: Sequence[Checked]
    attack_tests: Sequence[AttackTest]
    software: Mapping[str, str]
    mechanisms: Mapping[str, str]
    for_a_person: Mapping[str, Any] = field(default_factory=dict)
    decisions: Sequence[Decision] = ()
    changes: Sequence[Change] = ()
    policy: str = ""
    budget_problem: str = ""

    @property
    def problems(self) -> int:
        """How many releases do not verify, and one more if the ledger is not whole."""
        return sum(release.verified is False for release in self.releases) + (self.ledger_problem is not None)


def audit_html(data: AuditData) -> str:
    """The whole page, ready to be written to one file."""
    return render(
        "audit.html",
        data=data,
        facts=facts(data),
        scheme=_scheme,
        verdict=_verdict,
        links=_links,
        hashes=_hashes,
        charts=[spending_chart(year, data.budget_epsilon) for year in data.years],
        budget_delta=f"{data.budget_delta:g}",
        lineage=lineage(data.nodes),
        outcomes=OUTCOMES,
        hazards=HAZARDS,
        periods=PERIODS,
    )


def audit_markdown(data: AuditData) -> str:
    """The page in a few lines, for the UI."""
    lines = [f"| {name} | {value} |" for name, value in facts(data).items()]
    wrong = (release for release in data.releases if release.verified is False)
    broken = [f"- {release.week}, {release.city}, revision {release.revision}: does NOT verify" for release in wrong]
    alarm = [f"- {problem}" for problem in (data.ledger_problem, data.budget_problem) if problem]
    return "\n".join(["| what | |", "|---|--:|", *lines, "", *alarm, *broken])


def facts(data: AuditData) -> dict[str, str]:
    """What a reader should see first."""
    published = [release for release in data.releases if release.statement]
    final = sum(bool(release.upto) for release in published)
    spent = {
        f"epsilon of {year.year}, of {data.budget_epsilon:g}": f"{year.epsilon[-1]:.3f}" for year in data.years[-2:]
    }
    if data.years:
        costliest = max(epsilon for year in data.years for epsilon in year.rolling)
        spent[f"epsilon of the costliest 52 weeks, of {data.budget_epsilon:g}"] = f"{costliest:.3f}"
        spent["epsilon of all weeks together"] = f"{data.years[-1].lifetime[-1]:.3f}"
    return {
        "releases": f"{len(published) - final}",
        **({"final estimates": f"{final}"} if final else {}),
        "of them verified": f"{sum(release.verified is True for release in published)}",
        **spent,
        "charges in the ledger": f"{data.charges}",
        "ledger": "damaged" if data.ledger_problem else "whole",
    }


def _scheme(release: Entry) -> str:
    """How it was drawn, and with which other weeks it was estimated."""
    if not release.scheme:
        return "–"
    if release.earlier_weeks is None:
        return f"{release.scheme} ({release.calibration})"
    before = release.earlier_weeks
    sides = [f"{count_noun(before, 'week')} before"] if before or not release.upto else []
    sides += [f"weeks after it up to {release.upto}: final"] if release.upto else []
    return f"{release.scheme} ({release.calibration}), estimated with {' and '.join(sides)}"


def _links(release: Entry, folder: Path) -> dict[str, str]:
    """Label and address of files of the release that are there, as seen from the page."""
    if release.statement is None:
        return {}
    page = release.statement.with_name(release.statement.name.replace("privacy_statement", "report"))
    files = {
        "data": release.statement,
        "text": release.statement.with_suffix(".md"),
        "page": page.with_suffix(".html"),
    }
    return {label: f"./{quote(os.path.relpath(file, folder))}" for label, file in files.items() if file.exists()}


def _verdict(release: Entry) -> tuple[str, str]:
    """The kind of a badge and its words."""
    if release.verified is None:
        return "none", "paid, drawn, not published" if release.drawn else "paid, not drawn"
    return ("good", "verified") if release.verified else ("bad", "does NOT verify")


def _hashes(release: Entry) -> dict[str, str]:
    """Everything an auditor may want to compare."""
    statement = {"privacy statement": release.digest} if release.digest else {}
    charges = {f"charge of {door}": charge for door, charge in release.charges.items()}
    return statement | dict(release.files) | charges
