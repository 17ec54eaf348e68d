"""The privacy statement of a release: what is promised, how it was paid, and nothing computed from the truth."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from platform import python_version
from typing import Any

from density_assets.privacy.accounting import spent
from density_assets.privacy.charges import Budget, Row
from density_assets.privacy.events import Event
from density_assets.privacy.planning import cost_of
from density_assets.privacy.release import Release

PACKAGES = ("density-assets", "dagster", "opendp", "dp-accounting", "duckdb", "numpy", "scipy", "polars")
UNIT = (
    "one subscriber identifier's whole week: adding or removing all records of one identifier. "
    "A person with m identifiers has m-fold sensitivity."
)


@dataclass(frozen=True)
class Facts:
    """Everything a statement says.

    people: how many live in the city, a public figure; none if it was not stated.
    charges: what the ledger holds for the release, one row per door.
    spent: everything the population's year was charged so far.
    ledger_file, ledger_head: the chain beside the statement, and the hash it ends with.
    files: digests of the published files, by name.
    """

    release: Release
    timezone: str
    people: int | None
    charges: Sequence[Row]
    spent: Sequence[Event]
    ledger_file: str
    ledger_head: str
    budget: Budget
    files: dict[str, str]


def statement(facts: Facts) -> dict[str, Any]:
    """The statement as data; the order of its keys is part of published bytes."""
    release, budget = facts.release, facts.budget
    bound = spent([event for row in facts.charges for event in row.charge.events], release.delta)
    return {
        "city": release.city,
        "week": release.week,
        "timezone": facts.timezone,
        "revision": release.revision,
        "unit": UNIT,
        "epsilon": release.epsilon,
        "delta": release.delta,
        "accounted": {"epsilon": bound.epsilon, "delta": bound.delta, "accountant": bound.accountant},
        "scheme": release.scheme,
        "calibration": release.calibration,
        "parameters": dict(release.parameters),
        "doors": sorted(release.doors),
        "charges": [row.public_record() for row in facts.charges],
        "ledger": {"file": facts.ledger_file, "head": facts.ledger_head},
        "cumulative": {
            "year": release.year,
            "epsilon": cost_of(facts.spent, [], 0, budget.delta),
            "budget_epsilon": budget.epsilon,
            "delta": budget.delta,
            "accountant": "RDP",
        },
        "warnings": warnings(release.delta, facts.people),
        "software": {"python": python_version(), **{name: version(name) for name in PACKAGES}},
        "files": facts.files,
    }


def warnings(delta: float, people: int | None) -> list[str]:
    """What a reader should know before relying on the promise."""
    if people is None:
        return ["The size of the population was not stated, so delta could not be compared with it."]
    if delta > 1 / people:
        return [f"delta {delta:g} is above one in the population ({people:,})."]
    return []


def as_markdown(said: Mapping[str, Any]) -> str:
    """The statement for people."""
    charges = [event | {"door": charge["door"]} for charge in said["charges"] for event in charge["events"]]
    rows = "\n".join(f"| {event['door']} | {event['query']} | {event['kind']} | {_scale(event)} |" for event in charges)
    paid = "\n".join(f"- {charge['door']}: `{charge['hash']}`" for charge in said["charges"])
    versions = ", ".join(f"{name} {number}" for name, number in said["software"].items())
    notes = "".join(f"- {warning}\n" for warning in said["warnings"])
    year = said["cumulative"]
    promise = f"({said['epsilon']:g}, {said['delta']:g})"
    accounted = f"epsilon {said['accounted']['epsilon']:.4f} at delta {said['delta']:g}"
    together = f"epsilon {year['epsilon']:.3f} of {year['budget_epsilon']:g} at delta {year['delta']:g}"
    return f"""# Privacy statement: {said["city"]}, week of {said["week"]}

The counts of this release are {promise}-differentially private. The unit is {said["unit"]}

What anybody can learn about a person from this release they could have learned almost as well had that person's
week never been recorded. Accounted for: {accounted} ({said["accounted"]["accountant"]}).

## How it was drawn

Scheme `{said["scheme"]}`, {said["calibration"]} calibration, revision {said["revision"]}. Noise by OpenDP, drawn once.

| door | query | noise | scale |
|---|---|---|---|
{rows}

## How it was paid

{paid}

All releases of {year["year"]} so far cost this population {together} together, added up by Rényi divergence.

{notes}
Software: {versions}.
"""


def _scale(event: Mapping[str, Any]) -> str:
    size = next(name for name in ("sigma", "scale", "epsilon") if name in event)
    often = f", {event['streams'] * event['releases']} times at most" if "releases" in event else ""
    return f"{size} {event[size]:,.4g}, sensitivity {event['sensitivity']:,.4g}{often}"
