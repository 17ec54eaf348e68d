"""What a charge is made under, whether it may be made, and what its entry says."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from density_assets.privacy.accounts import Accounts
from density_assets.privacy.acknowledged import refuse_unacknowledged
from density_assets.privacy.acts import Act, needed
from density_assets.privacy.charges import Budget, budget_in_force, refuse_over_budget
from density_assets.privacy.events import to_record
from density_assets.privacy.policy import refuse_budget, refuse_charges, under_policy
from density_assets.privacy.release import Charge
from density_assets.settings import Settings
from resources.ledger.book import LedgerError

CHARGED_UNIT = "one subscriber identifier, one week"


@dataclass(frozen=True)
class Order:
    """What a charge is made under, besides what is charged.

    act: who asks for it, and why; none is enough where nothing is due.
    settings: of the city; what they say a year may cost stands if none is recorded, or if it is less.
    release: everything that decides the draw. software: what draws.
    """

    act: Act | None
    settings: Settings
    release: Mapping[str, Any]
    software: Mapping[str, str]


def may_charge(accounts: Accounts, due: Sequence[Charge], order: Order) -> tuple[Act, Budget]:
    """Who asks for charges of one population and the budget that permits them; raises if anything forbids them."""
    act, recorded = needed(order.act, "a release"), accounts.budget(due[0].population)
    refuse_charges(accounts, due, act)
    budget = budget_in_force(recorded, order.settings)
    if recorded is None:  # the first is that of the settings
        refuse_budget(accounts, budget, act)
    refuse_over_budget(list(accounts.rows), due, under_policy(accounts, budget))
    refuse_unacknowledged(accounts, due, order.settings)
    return act, budget


def refuse_drawn(accounts: Accounts, charges: Sequence[Charge]) -> None:
    """Raise if a door of this revision of the week was drawn before, under whatever settings."""
    for charge in charges:
        if was_drawn(accounts, charge):
            raise LedgerError(
                f"a revision of a week is drawn once, {charge.door} of revision {charge.revision} of the week of "
                f"{charge.week} was drawn already: restore its draw (release/measurements) from a backup, or declare "
                f"revision {charge.revision + 1} of this week in [revisions], which is charged. Nothing was charged "
                "and nothing drawn"
            )


def was_drawn(accounts: Accounts, charge: Charge) -> bool:
    """Whether a door of a revision of a week was drawn to the end, under whatever settings."""
    charged = accounts.charges_of(charge.population, charge.which)
    return any(row.digest and row.charge.door == charge.door for row in charged)


def charge_body(charge: Charge, order: Order, act: Act) -> dict[str, Any]:
    """What the entry of a charge says."""
    return {
        **charge.identity(),
        "unit": CHARGED_UNIT,
        "door": charge.door,
        "measurement": charge.measurement,
        "events": [to_record(event) for event in charge.events],
        "nonce": secrets.token_hex(16),
        "release": dict(order.release),
        "software": dict(order.software),
        **act.record(),
    }


def budget_body(population: str, budget: Budget, act: Act) -> dict[str, Any]:
    """What the entry of a budget says."""
    return {"population": population, "epsilon": budget.epsilon, "delta": budget.delta, **act.record()}
