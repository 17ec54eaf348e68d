"""Risks of a release: hazards of its claim, attack tests, and the draft of an impact assessment.

Hazards are those of a differential-privacy claim that NIST SP 800-226 (2025) names, with where we stand. Their order is
that of its pyramid, from the parameters down to how data are collected: each layer relies on the next. Attack tests are
attacks on releases of synthetic people, as studies leave them.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from markupsafe import Markup

from density_assets.publication.pages.templates import as_code, render_markdown
from density_assets.settings import Settings
from density_assets.settings.people import FACTORS
from density_assets.settings.values import AGENT, is_url


class Hazard(NamedTuple):
    """A hazard, where we stand, and where to look."""

    name: str
    stand: str
    where: str


HAZARDS = (
    Hazard(
        "epsilon is too large, or given for one release only",
        "Each statement gives the week, the worst 52 weeks that contain it, and all weeks so far, with an attacker's "
        "best AUC beside epsilon. A budget over every 52 weeks is kept by the ledger; raising it is recorded.",
        "statement, cost",
    ),
    Hazard(
        "delta is as large as one in the population",
        "A constant chosen beforehand; a statement warns where it is above one in the stated population.",
        "statement",
    ),
    Hazard(
        "the unit of privacy is narrower than people think",
        "One identifier's whole week, never an event or a day. Figures for 1, 2 and 7 identifiers a week are given; "
        "households are not protected as one.",
        "statement, threat model",
    ),
    Hazard(
        "guarantees of different kinds are compared by epsilon",
        "rho and, where exact, mu are given beside epsilon at several deltas.",
        "statement",
    ),
    Hazard(
        "bounds on what one person contributes are assumed, not enforced",
        "Caps, clamps and weights are applied by SQL before anything is summed; blocking checks look at the result, "
        "and property tests run neighbouring records through it.",
        "checks, docs/privacy.md",
    ),
    Hazard(
        "bounds, clamps or settings are read off the data",
        "All are constants of the settings. Choosing them by evaluation metrics of real people voids the promise, and "
        "these are made only when a person asks.",
        "docs/privacy.md",
    ),
    Hazard(
        "noise leaks through floating-point arithmetic or a weak generator",
        "OpenDP's lattice noise from the kernel's generator; integers get the discrete Gaussian. Every measurement is "
        "checked against its claim before it draws.",
        "docs/privacy.md",
    ),
    Hazard(
        "recomputing draws noise again",
        "Drawn once, kept under a key, digest in the ledger; a lost draw of a published week is never made again.",
        "ledger, threat model",
    ),
    Hazard(
        "the mechanism is wrong, or its proof is",
        "Published proofs that do not hold are corrected; attacks on invented people give lower bounds on epsilon; "
        "faults that are planted in the mechanisms must be caught by the tests.",
        "attacks",
    ),
    Hazard(
        "accuracy is poor, or worse for small groups",
        "Every count has a standard error, and a check warns where a city is too small for its promise. Light users "
        "weigh more than heavy ones; the documentation gives the bias.",
        "checks, docs/lowrank.md",
    ),
    Hazard(
        "the curator is trusted, and nobody says so",
        "Central model: the operator sees the records. What that means is one page.",
        "threat model",
    ),
    Hazard(
        "side channels: time, size, failure",
        "Outcomes of checks that read records are withheld, errors quote none, charges depend on settings only. Run "
        "times are visible to whoever may open the writing UI.",
        "threat model",
    ),
    Hazard(
        "access to raw data and to the budget",
        "Confidential files are their owner's only; released steps run without a way to them; budgets, revisions and "
        "keys are recorded acts, limited by a policy.",
        "lineage, decisions",
    ),
    Hazard(
        "data are kept longer than needed",
        "The confidential zone of a released week can be erased; the release stays as good as it was.",
        "docs/retention-and-checks.md",
    ),
)


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


MARK = "to be filled by the controller"


def impact_assessment(settings: Settings) -> str:
    """Return the draft as Markdown: the same for the same settings.

    A data-protection impact assessment (GDPR, Art. 35(7)), filled from settings alone; its words are in
    `pages/templates/dpia.md`. A place that no setting fills is left to the controller, in words that can be searched
    for. The draft is meant to be handed around: it says of what kind databases, keys and addresses are, and quotes
    none, since they may hold passwords.
    """
    text = render_markdown(
        "dpia.md",
        settings=settings,
        hazards=HAZARDS,
        factors=FACTORS,
        agent=AGENT,
        mark=MARK,
        fill=lambda blank: Markup(f"**{MARK}: {blank}**"),
        right_guesses=right_guesses,
        is_url=is_url,
        kind_of=lambda address: as_code(urlsplit(address).scheme),
    )
    return f"{text}\n"


def left_to_fill(draft: str) -> int:
    """Count the blanks that a draft leaves to the controller."""
    return draft.count(f"**{MARK}: ")


def right_guesses(epsilon: float, delta: float) -> str:
    """How often the best attacker tells two equally likely neighbours apart, at most; rounded up.

    It is one minus the mean of the rates of both errors, whose sum is at least 2·(1 - delta) / (1 + e^epsilon)
    (Kairouz, Oh & Viswanath 2015, Thm 2.1).
    """
    wrong = (1 - delta) / (1 + math.exp(epsilon))
    return f"{min(math.ceil(1000 * (1 - wrong)) / 10, 100):g} of 100 cases"
