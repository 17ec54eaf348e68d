"""The privacy statement of a release: what is promised, how it was paid, and nothing computed from the truth."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from platform import python_version
from typing import Any

from density_assets.privacy.accounting import spent
from density_assets.privacy.events import from_record

PACKAGES = ("density-assets", "dagster", "opendp", "dp-accounting", "duckdb", "numpy", "scipy", "polars")
UNIT = (
    "one subscriber identifier's whole week: adding or removing all records of one identifier. "
    "A person with m identifiers has m-fold sensitivity."
)


@dataclass(frozen=True)
class Facts:
    """Everything a statement says.

    doors: the mechanism assets the release came through; charges: what the ledger holds for it, one per door.
    """

    city: str
    week: str
    timezone: str
    revision: int
    scheme: str
    calibration: str
    epsilon: float
    delta: float
    population: int | None
    parameters: Mapping[str, Any]
    doors: list[str]
    charges: list[dict[str, Any]]
    ledger_file: str
    ledger_head: str
    year: str
    year_epsilon: float
    budget_epsilon: float
    budget_delta: float
    files: dict[str, str]


def statement(facts: Facts) -> dict[str, Any]:
    """The statement as data."""
    events = [from_record(event) for charge in facts.charges for event in charge["events"]]
    bound = spent(events, facts.delta)
    return {
        "city": facts.city,
        "week": facts.week,
        "timezone": facts.timezone,
        "revision": facts.revision,
        "unit": UNIT,
        "epsilon": facts.epsilon,
        "delta": facts.delta,
        "accounted": {"epsilon": bound.epsilon, "delta": bound.delta, "accountant": bound.accountant},
        "scheme": facts.scheme,
        "calibration": facts.calibration,
        "parameters": dict(facts.parameters),
        "doors": facts.doors,
        "charges": facts.charges,
        "ledger": {"file": facts.ledger_file, "head": facts.ledger_head},
        "cumulative": {
            "year": facts.year,
            "epsilon": facts.year_epsilon,
            "budget_epsilon": facts.budget_epsilon,
            "delta": facts.budget_delta,
            "accountant": "RDP",
        },
        "warnings": warnings(facts),
        "software": {"python": python_version(), **{name: version(name) for name in PACKAGES}},
        "files": facts.files,
    }


def warnings(facts: Facts) -> list[str]:
    """What a reader should know before relying on the promise."""
    if facts.population is None:
        return ["The size of the population was not stated, so delta could not be compared with it."]
    if facts.delta > 1 / facts.population:
        return [f"delta {facts.delta:g} is above one in the population ({facts.population:,})."]
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
