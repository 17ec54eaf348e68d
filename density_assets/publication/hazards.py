"""Where we stand on the hazards of a differential-privacy claim that NIST SP 800-226 (2025) names.

The order is that of its pyramid, from the parameters down to how data are collected: each layer relies on the next.
"""

from typing import NamedTuple


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
