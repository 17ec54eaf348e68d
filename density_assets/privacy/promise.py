"""What charges mean for a person: a week, a year and all weeks, in numbers that can be compared and in words.

Nothing here is computed from people: events come from settings by way of the ledger. Numbers are rounded upwards, so
that what is shown still holds.
"""

import math
from collections.abc import Sequence
from datetime import date
from decimal import ROUND_CEILING, Context
from typing import Any

import numpy as np
from scipy.special import ndtr

from density_assets.privacy.charges import Row, events_of, worst_rolling_year
from density_assets.privacy.composition import Composition, compose
from density_assets.privacy.events import Event
from density_assets.privacy.periods import YEAR, Period

DELTAS = (1e-5, 1e-6, 1e-7, 1e-9)
IDENTIFIERS = (1, 2, 7)  # how many identifiers a person may have in a week
UNITS = {
    "week": "the whole week of a person with at most {}",
    "rolling_year": f"a person over {YEAR} consecutive weeks with at most {{}} a week",
    "lifetime": "a person over all weeks charged so far with at most {} a week",
}
THRESHOLDS, LEVELS = 2_000, 200  # places of the attacker's curve, and epsilons that bound it there


def explain_release(rows: Sequence[Row], population: str, week: date, delta: float) -> dict[str, Any]:
    """What the charges of a population mean for those who are in a week, and which 52 weeks cost them most.

    rows: the ledger up to the moment that is spoken of.
    delta: at which 52 weeks are compared.
    """
    rolling = worst_rolling_year(rows, population, week, delta)
    bounds = explain(
        events_of(rows, population, Period(week, week)),
        events_of(rows, population, rolling),
        events_of(rows, population),
    )
    return {"from": rolling.first.isoformat(), "to": rolling.last.isoformat(), **bounds}


def explain(
    week: Sequence[Event],
    rolling_year: Sequence[Event],
    lifetime: Sequence[Event],
    deltas: Sequence[float] = DELTAS,
    identifiers: Sequence[int] = IDENTIFIERS,
) -> dict[str, Any]:
    """What holds for a person in the week, over the costliest 52 weeks and over all, by number of identifiers.

    Guarantees: plain data, ready to be written as JSON, and the same for the same events.
    """
    periods = {"week": week, "rolling_year": rolling_year, "lifetime": lifetime}
    return {
        name: [_bounds(compose(events, number), UNITS[name], number, deltas) for number in identifiers]
        for name, events in periods.items()
    }


def attacker_auc(cost: Composition) -> float:
    """How well the best attacker tells releases with somebody's records from those without: at most this.

    The area under the curve of true over false positives, which is the probability to name the right one of the two;
    guessing gives a half. For a Gaussian mechanism it is Φ(mu/sqrt(2)), exactly. Otherwise every (epsilon, delta) that
    holds keeps the rate of false negatives, at a rate x of false positives, above

        1 - delta - exp(epsilon)·x   and   exp(-epsilon)·(1 - delta - x)

    (Kairouz, Oh & Viswanath 2015, Thm 2.1). The largest of such lines is convex, so that values at the middle of equal
    steps are on average below the area under it, and one minus their mean is above the attacker's.
    """
    if cost.mu is not None:
        return float(ndtr(cost.mu / math.sqrt(2)))
    epsilons = np.append(np.geomspace(1e-3, 60, LEVELS), [0.0, min(cost.pure, 60.0)])
    left = 1 - cost.deltas(epsilons)[:, None]
    false_positives = (np.arange(THRESHOLDS) + 0.5) / THRESHOLDS
    growth = np.exp(epsilons)[:, None]
    lines = np.maximum(left - growth * false_positives, (left - false_positives) / growth)
    return float(1 - np.maximum(lines.max(axis=0), 0).mean())


def _bounds(cost: Composition, unit: str, identifiers: int, deltas: Sequence[float]) -> dict[str, Any]:
    auc = _upwards(attacker_auc(cost), digits=3)
    return {
        "unit": unit.format("one identifier" if identifiers == 1 else f"{identifiers} identifiers"),
        "identifiers": identifiers,
        "rho": _upwards(cost.rho),
        "mu": None if cost.mu is None else _upwards(cost.mu),
        "epsilon": {f"{delta:g}": _upwards(cost.epsilon(delta)) for delta in deltas},
        "attacker_auc": auc,
        "in_words": (
            "Shown what is released with this person's records and without them, the best attacker tells which is "
            f"which in at most {100 * auc:.1f} of 100 cases; guessing gives 50."
        ),
    }


def _upwards(number: float, digits: int = 4) -> float:
    """Rounded up to so many significant digits."""
    return float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(number))
