"""The privacy statement of a release: what is promised, how it was paid, and nothing computed from the truth.

It says everything as of the charge of the release, and what drew it as of the draw: made again, in a year, it has the
same bytes. That of a final estimate says what was spent as of the entry that its chain ends with.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from density_assets.privacy.accounts import Accounts
from density_assets.privacy.charges import Budget, Row, charged_events
from density_assets.privacy.composition import compose, spent
from density_assets.privacy.estimates import FINAL, Estimated
from density_assets.privacy.events import Event
from density_assets.privacy.periods import monday_of
from density_assets.privacy.promise import explain_release
from density_assets.privacy.release import FORMAT, Release
from density_assets.publication.public_inputs import follow_from_inputs
from density_assets.publication.vintages import named_final
from density_assets.quality.released import Worth

STATEMENT_FORMAT = f"density statement {FORMAT}"
UNIT = (
    "one subscriber identifier's whole week: adding or removing all records of one identifier. "
    "A person with m identifiers has m-fold sensitivity."
)
BESIDE = "It stands beside what the week was first published with, which stays as it was signed."
FELL_BACK = "The estimator did not come to finite numbers, so this week was estimated from its own draws alone."


@dataclass(frozen=True)
class Facts:
    """Everything a statement says.

    people: how many people the records are of, by public figures; none if it was not stated.
    charges: what the ledger holds for the release, one row per door.
    end: the entry of the ledger that the chain beside the statement ends with.
    files: digests of the published files, by name; the chain's is among them.
    estimated: what the estimate is made of; none if the week was estimated alone, which says nothing of it.
    fell_back: whether it was estimated alone because the estimator failed.
    worth: what the counts are worth beside a flat and an empty map; none says nothing of it.
    """

    release: Release
    timezone: str
    people: int | None
    accounts: Accounts
    charges: Sequence[Row]
    end: int
    ledger_file: str
    budget: Budget
    files: dict[str, str]
    estimated: Estimated | None = None
    fell_back: bool = False
    worth: Worth | None = None

    @property
    def before(self) -> list[Row]:
        """Every charge up to the last of this release; for a final estimate, up to the end of its chain."""
        if self.estimated and self.estimated.vintage == FINAL:
            return [row for row in self.accounts.rows if row.entry <= self.end]
        last = max(row.row for row in self.charges)
        return [row for row in self.accounts.rows if row.row <= last]


def statement(facts: Facts) -> dict[str, Any]:
    """The statement as data; the order of its keys is part of published bytes."""
    release, accounts = facts.release, facts.accounts
    bound = spent(_events(facts.charges), release.delta)
    return {
        "format": STATEMENT_FORMAT,
        "city": release.city,
        "week": release.week,
        "timezone": facts.timezone,
        "revision": release.revision,
        "population": release.population,
        "unit": UNIT,
        "epsilon": release.epsilon,
        "delta": release.delta,
        "accounted": {"epsilon": bound.epsilon, "delta": bound.delta, "accountant": bound.accountant},
        "scheme": release.scheme,
        "calibration": release.calibration,
        "geography": release.geography,
        "parameters": dict(release.parameters),
        "doors": sorted(release.doors),
        "charges": [row.public_record() for row in facts.charges],
        "ledger": {
            "file": facts.ledger_file,
            "identity": accounts.identity,
            "head": accounts.entries[facts.end - 1].hash,
            "row": facts.end,
        },
        "budget": _budgets(facts),
        "policy": _policy(facts),
        "cumulative": _cumulative(facts),
        **({"estimate": _estimate(facts, facts.estimated)} if facts.estimated else {}),
        "warnings": [
            *warnings(release.delta, facts.people),
            *_restored(facts),
            *(facts.worth.warnings if facts.worth else ()),
        ],
        "software": dict(facts.charges[-1].software),
        "files": facts.files,
    }


def _budgets(facts: Facts) -> list[dict[str, Any]]:
    """Every budget the population was given up to here: who raised one, and why, is said from then on."""
    names = ("epsilon", "delta", "by", "reason")
    given = facts.accounts.all_of("budget", facts.end, population=facts.release.population)
    return [{"at": entry.at, **{name: entry.body[name] for name in names}} for entry in given]


def _policy(facts: Facts) -> str | None:
    """Digest of the policy that was in force; none if there was none."""
    recorded = facts.accounts.newest("policy", facts.end)
    return str(recorded.body["sha256"]) if recorded else None


def _cumulative(facts: Facts) -> dict[str, Any]:
    """What the population's year had cost after this release, and what its weeks mean for a person."""
    release = facts.release
    budget = facts.accounts.budget(release.population, facts.end) or facts.budget
    bound = compose(charged_events(facts.before, release.population, release.year)).bound(budget.delta)
    return {
        "year": release.year,
        "epsilon": bound.epsilon,
        "budget_epsilon": budget.epsilon,
        "delta": budget.delta,
        "accountant": bound.accountant,
        "for_a_person": explain_release(facts.before, release.population, monday_of(release.week), budget.delta),
    }


def _estimate(facts: Facts, estimated: Estimated) -> dict[str, Any]:
    """Which draws the estimate is made of, and what they cost together; the estimate itself costs nothing."""
    release = facts.release
    own = spent(_events(facts.charges), release.delta)
    together = compose(_events(estimated.rows(facts.accounts))).bound(release.delta)
    return {
        "key": estimated.key(release),
        "vintage": estimated.vintage,
        "alone": FELL_BACK if facts.fell_back else None,
        "weeks": [draw.record() for draw in estimated.used],
        "left_out": [asdict(week) for week in estimated.left_out],
        "own": {"epsilon": own.epsilon, "delta": own.delta, "accountant": own.accountant},
        "together": {"epsilon": together.epsilon, "delta": together.delta, "accountant": together.accountant},
    }


def _events(rows: Sequence[Row]) -> list[Event]:
    return [event for row in rows for event in row.charge.events]


def warnings(delta: float, people: int | None) -> list[str]:
    """What a reader should know before relying on the promise."""
    if people is None:
        return ["The size of the population was not stated, so delta could not be compared with it."]
    if delta > 1 / people:
        return [f"delta {delta:g} is above one in the population ({people:,})."]
    return []


def _restored(facts: Facts) -> list[str]:
    """That the ledger was put back from a copy, in every statement from then on: it may have forgotten a draw."""
    return [
        f"On {entry.at} the ledger was put back from a copy that ended with entry {entry.body['row']}, by "
        f"{entry.body['by']}: {entry.body['reason']}. What was charged after that entry is not known."
        for entry in facts.accounts.all_of("restored", facts.end)
    ]


def as_markdown(said: Mapping[str, Any]) -> str:
    """The statement for people."""
    charges = [event | {"door": charge["door"]} for charge in said["charges"] for event in charge["events"]]
    rows = "\n".join(f"| {event['door']} | {event['query']} | {event['kind']} | {_scale(event)} |" for event in charges)
    paid = "\n".join(f"- {charge['door']}: `{charge['hash']}`{_asked(charge)}" for charge in said["charges"])
    versions = ", ".join(f"{name} {number}" for name, number in said["software"].items())
    notes = "".join(f"- {warning}\n" for warning in said["warnings"])
    promise = f"({said['epsilon']:g}, {said['delta']:g})"
    accounted = f"epsilon {said['accounted']['epsilon']:.4f} at delta {said['delta']:g}"
    manifest = said["ledger"]["file"].replace("ledger_", "manifest_")
    return f"""# Privacy statement: {said["city"]}, week of {said["week"]}

{_vintage(said)}The counts of this release are {promise}-differentially private. The unit is {said["unit"]}

What anybody can learn about a person from this release they could have learned almost as well had that person's
week never been recorded. Accounted for: {accounted} ({said["accounted"]["accountant"]}).

{follow_from_inputs(said["files"])}## What it means for a person

{_for_a_person(said["cumulative"])}

## How it was drawn

Scheme `{said["scheme"]}`, {said["calibration"]} calibration, revision {said["revision"]}. Noise by OpenDP, drawn once.

| door | query | noise | scale |
|---|---|---|---|
{rows}

{_estimate_text(said)}## How it was paid

{paid}

{_budget_text(said)}

{notes}
Ledger `{said["ledger"]["identity"]}`, entry {said["ledger"]["row"]}. The signed `{manifest}` covers this text:
check it with `verify.py` and the fingerprint of the key, got from elsewhere.

Software: {versions}.
"""


def _for_a_person(cumulative: Mapping[str, Any]) -> str:
    """Week, rolling year and lifetime, each with its own unit."""
    bounds, delta = cumulative["for_a_person"], "1e-07"
    lines = ["| unit | epsilon at 1e-7 | rho | best attacker's AUC |", "|---|--:|--:|--:|"]
    for period in ("week", "rolling_year", "lifetime"):
        lines += [
            f"| {bound['unit']} | {bound['epsilon'][delta]:g} | {bound['rho']:g} | {bound['attacker_auc']:g} |"
            for bound in bounds[period]
        ]
    words = bounds["rolling_year"][0]["in_words"]
    return "\n".join(
        [*lines, "", f"Over the 52 weeks from {bounds['from']} to {bounds['to']}, which cost most: {words}"]
    )


def _budget_text(said: Mapping[str, Any]) -> str:
    """What the year has cost and which budgets were given, in words."""
    year = said["cumulative"]
    spent = f"epsilon {year['epsilon']:.3f} of {year['budget_epsilon']:g} at delta {year['delta']:g}"
    given = [
        f"- {budget['at']}: ({budget['epsilon']:g}, {budget['delta']:g}), by {budget['by']}: {budget['reason']}"
        for budget in said["budget"]
    ]
    raised = ["", "Budgets given so far:", "", *given] if len(given) > 1 else []
    return "\n".join([f"All releases of {year['year']} so far cost this population {spent} together.", *raised])


def _estimate_text(said: Mapping[str, Any]) -> str:
    """What the estimate is made of, in words; nothing for a week that was estimated alone."""
    if "estimate" not in said:
        return ""
    estimate = said["estimate"]
    own, together = estimate["own"]["epsilon"], estimate["together"]["epsilon"]
    sides: dict[str, list[str]] = {"earlier": [], "later": []}
    for week in estimate["weeks"]:
        sides["earlier" if week["week"] < said["week"] else "later"].append(f"{week['week']}{_revision(week)}")
    named = " and of ".join(
        f"{len(weeks)} {side} week{'' if len(weeks) == 1 else 's'}: {', '.join(weeks)}"
        for side, weeks in sides.items()
        if weeks
    )
    named = named or "0 earlier weeks"
    notes = [
        *([f"- {estimate['alone']}"] if estimate["alone"] else []),
        *(f"- not used: {week['week']}{_revision(week)}, because {week['reason']}" for week in estimate["left_out"]),
    ]
    lines = [
        "## What it was estimated from",
        "",
        f"The estimate is {estimate['vintage']}: from the draws of this week and of {named}. Learning "
        f"from them costs nothing: they were paid for. This week's own draws cost epsilon {own:.4f}, all of them "
        f"together {together:.4f}, at delta {said['delta']:g}.",
        *(["", *notes] if notes else []),
        *(["", BESIDE] if estimate["vintage"] == FINAL else []),
    ]
    return "\n".join([*lines, "", ""])


def _vintage(said: Mapping[str, Any]) -> str:
    """That an estimate is a final one, as a paragraph; nothing of others."""
    estimate = said.get("estimate")
    if estimate is None or estimate["vintage"] != FINAL:
        return ""
    return f"{named_final(max(week['week'] for week in estimate['weeks']))}\n\n"


def _revision(week: Mapping[str, Any]) -> str:
    return f" (revision {week['revision']})" if week["revision"] > 1 else ""


def _asked(charge: Mapping[str, Any]) -> str:
    return f", asked for by {charge['by']} ({charge['how']}): {charge['reason']}" if "by" in charge else ""


def _scale(event: Mapping[str, Any]) -> str:
    size = next(name for name in ("sigma", "scale", "epsilon") if name in event)
    often = f", {event['streams'] * event['releases']} times at most" if "releases" in event else ""
    return f"{size} {event[size]:,.4g}, sensitivity {event['sensitivity']:,.4g}{often}"
