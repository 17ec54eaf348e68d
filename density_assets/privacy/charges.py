"""What is charged to whom: the values the ledger keeps, and whether one more fits the budget."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from density_assets.privacy.events import Event, to_record
from density_assets.privacy.planning import cost_of, releases_that_fit
from density_assets.privacy.release import Charge
from density_assets.settings import Settings


class BudgetRefused(RuntimeError):
    """The release would cost more than is left: nothing was charged and nothing drawn."""


@dataclass(frozen=True)
class Budget:
    """What all weeks of a calendar year may cost together, for one population."""

    epsilon: float
    delta: float

    @classmethod
    def of(cls, settings: Settings) -> "Budget":
        """The budget that settings give."""
        return cls(settings.privacy.budget_epsilon, settings.privacy.budget_delta)


@dataclass(frozen=True)
class Row:
    """A charge as it stands in the ledger."""

    row: int
    at: str
    charge: Charge
    hash: str
    drawn: bool

    def public_record(self) -> dict[str, Any]:
        """The charge as plain data, for statements; the order of its keys is part of published bytes."""
        charge = self.charge
        return {
            "population": charge.population,
            "city": charge.city,
            "week": charge.week,
            "revision": charge.revision,
            "door": charge.door,
            "measurement": charge.measurement,
            "epsilon": charge.epsilon,
            "delta": charge.delta,
            "events": [to_record(event) for event in charge.events],
            "at": self.at,
            "hash": self.hash,
        }


def population_name(settings: Settings) -> str:
    """Whose budget a release is charged to: budgets follow people, so all real cities of a home share one."""
    return f"simulated people of {settings.city.name}" if settings.city.synthetic else "subscribers"


def charged_events(rows: Sequence[Row], population: str, year: str) -> list[Event]:
    """Every event charged to a population for the weeks of a calendar year."""
    return [
        event
        for row in rows
        if row.charge.population == population and row.charge.week.startswith(year)
        for event in row.charge.events
    ]


def price(rows: Sequence[Row], charged: Sequence[Charge], budget: Budget) -> str:
    """What charges that the ledger holds already cost, in one line; known from settings alone."""
    population, week, revision = charged[0].population, charged[0].week, charged[0].revision
    asked = [event for charge in charged for event in charge.events]
    year = charged_events(rows, population, week[:4])
    alone, spent = cost_of([], asked, 1, budget.delta), cost_of(year, [], 0, budget.delta)
    left = budget.epsilon - spent
    return (
        f"revision {revision} of the week of {week} costs epsilon {alone:.3f} alone, at delta {budget.delta:g}; "
        f"{population}: {spent:.3f} of {budget.epsilon:g} are spent in {week[:4]}, {left:.3f} are left"
    )


def refuse_over_budget(rows: Sequence[Row], due: Sequence[Charge], budget: Budget) -> None:
    """Raise if charges would pass the budget of their population and year."""
    population, year = due[0].population, due[0].week[:4]
    before = charged_events(rows, population, year)
    asked = [event for charge in due for event in charge.events]
    after = cost_of(before, asked, 1, budget.delta)
    if after > budget.epsilon:
        spent, alone = cost_of(before, asked, 0, budget.delta), cost_of([], asked, 1, budget.delta)
        fit = releases_that_fit(before, asked, budget.epsilon, budget.delta)
        raise BudgetRefused(
            f"the releases of {year} for {population} may cost epsilon {budget.epsilon:g} at delta {budget.delta:g} "
            f"together: spent {spent:.3f}, this release costs {alone:.3f} alone and would make {after:.3f}. "
            f"Left are {budget.epsilon - spent:.3f}, enough for {fit} such releases. "
            "Nothing was charged and nothing drawn; lower privacy.epsilon, or wait for the next year"
        )
