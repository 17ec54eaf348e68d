"""What people decided, and what changed from one release to the next: read off the ledger, for auditors.

Nobody should have to compare two statements by hand to see that a clamp, a version or a budget is another one.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from density_assets.privacy.accounts import Accounts, Body, Entry
from density_assets.privacy.acknowledged import INPUT
from density_assets.privacy.charges import Row

SAID: dict[str, Callable[[Body], str]] = {  # what each kind of decision says, from its body
    "opened": lambda body: "opened the ledger" + (", taking over version 1" if body["adopted"] else ""),
    "declared": lambda body: "opened it for records of real people",
    "moved": lambda body: "said that it was moved or restored, not copied",
    "restored": lambda body: (
        f"put back a copy that ended with entry {body['row']}; what was charged after is not known"
    ),
    "key": lambda body: f"changed the key{'' if body['signed'] else ', without the old key saying so'}",
    "policy": lambda body: f"set the policy {body['sha256'][:12]}",
    "budget": lambda body: f"gave {body['population']} a budget of ({body['epsilon']:g}, {body['delta']:g})",
    "approval": lambda body: (
        f"acknowledged what the files of {body['city']} are understood as (input settings {body['inputs'][:12]})"
        if body["what"] == INPUT
        else f"approved revision {body['revision']} of the week of {body['week']}, {body['city']}"
    ),
}


@dataclass(frozen=True)
class Decision:
    """One thing that somebody decided."""

    at: str
    by: str
    what: str
    reason: str


@dataclass(frozen=True)
class Change:
    """What is otherwise in a release than in the one before it, of the same city.

    differences: by name, what it was and what it is.
    """

    city: str
    before: str
    after: str
    differences: Mapping[str, tuple[str, str]]


def decisions(accounts: Accounts, population: str) -> list[Decision]:
    """Everything people decided that matters for a population, oldest first; revisions among it."""
    decided = [entry for entry in accounts.of(*SAID) if entry.body.get("population", population) == population]
    revised = [_revision(row) for row in _first_charges(accounts, population) if row.charge.revision > 1]
    said = [(entry.row, _decision(entry)) for entry in decided] + revised
    return [decision for _, decision in sorted(said, key=lambda pair: pair[0])]


def changes(accounts: Accounts, population: str) -> list[Change]:
    """What changed from each release to the next one of its city, in the order in which they were charged."""
    charged = [row for row in _first_charges(accounts, population) if row.release]
    cities = sorted({row.charge.city for row in charged})
    return [
        Change(city, _name(before), _name(after), differences)
        for city in cities
        for before, after in pairwise(row for row in charged if row.charge.city == city)
        if (differences := dict(_differences(_described(before), _described(after))))
    ]


def _decision(entry: Entry) -> Decision:
    body = entry.body
    return Decision(entry.at, body["by"], SAID[entry.kind](body), body["reason"])


def _revision(row: Row) -> tuple[int, Decision]:
    what = f"asked for revision {row.charge.revision} of the week of {row.charge.week}, {row.charge.city}"
    return row.entry, Decision(row.at, row.by, what, row.reason)


def _first_charges(accounts: Accounts, population: str) -> list[Row]:
    """One charge of each release, the first."""
    firsts: dict[tuple[Any, ...], Row] = {}
    for row in accounts.rows:
        if row.charge.population == population and row.entry:
            firsts.setdefault((*row.charge.identity().values(), (row.release or {}).get("name")), row)
    return list(firsts.values())


def _described(row: Row) -> dict[str, Any]:
    release, charge = row.release or {}, row.charge
    named = {name: release.get(name) for name in ("scheme", "calibration", "version", "geography")}
    software = {f"software: {name}": number for name, number in (row.software or {}).items()}
    promise = {"epsilon": charge.epsilon, "delta": charge.delta}
    return {**promise, **named, **release.get("parameters", {}), **software}


def _differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, str]]]:
    for name in {**before, **after}:
        if before.get(name) != after.get(name):
            yield name, (_short(before.get(name)), _short(after.get(name)))


def _short(value: Any) -> str:
    text = "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
    return f"{text[:16]}…" if len(text) == 64 else text


def _name(row: Row) -> str:
    revision = f", revision {row.charge.revision}" if row.charge.revision > 1 else ""
    return f"{row.charge.week}{revision}"
