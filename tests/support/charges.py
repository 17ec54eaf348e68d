"""Charges of a made-up city, and ledgers that have paid for them."""

from dataclasses import replace
from datetime import date, timedelta

from ledgers import BUDGET, order

from density_assets.privacy.charges import Budget
from density_assets.privacy.events import Gaussian
from density_assets.privacy.release import Charge
from resources.ledger.ledger import Ledger
from resources.ledger.witnesses import NOTHING, Named, Witnesses

EVENT = Gaussian("series", 17.0, 1.0)  # about epsilon 0.26 at delta 2e-6
NOBODY = "simulated people of town"


def charge(week="2007-09-10", door="noisy_series", **changed) -> Charge:
    """One door of one week of real people; of which else, `changed` says."""
    base = Charge(
        population="subscribers",
        city="paris",
        week=week,
        revision=1,
        epsilon=0.3,
        delta=2e-6,
        door=door,
        measurement="",
        events=(EVENT,),
    )
    made = replace(base, **changed)
    return replace(made, measurement=f"{made.population} {made.city} {made.week} {made.door}")


def monday(number: int) -> str:
    """A Monday of 2007, or later."""
    return (date(2007, 1, 8) + timedelta(weeks=number)).isoformat()


def weeks(n: int) -> list[str]:
    """So many weeks in a row."""
    return [monday(number) for number in range(n)]


def paid(ledger: Ledger, *charges: Charge, budget: Budget = BUDGET) -> None:
    """Pay."""
    ledger.reserve(charges, order(budget), NOTHING)


def drawn(ledger: Ledger, *charges: Charge) -> None:
    """Pay, and draw."""
    paid(ledger, *charges)
    for made in charges:
        hashed = ledger.begin_draw(made.measurement, made.events)
        ledger.finish_draw(hashed, made.measurement, f"digest of {made.measurement}")


def known(ledger: Ledger) -> Witnesses:
    """What stored draws would say."""
    return Witnesses(drawn=tuple(Named(row.hash, "a draw") for row in ledger.rows() if row.drawn))
