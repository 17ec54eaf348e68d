"""What is charged to whom: the values the ledger keeps, and whether one more fits the budget."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from density_assets.privacy.composition import NOTHING, Composition, compose
from density_assets.privacy.events import Event, to_record
from density_assets.privacy.periods import (
    Period,
    Weeks,
    calendar_year,
    monday_of,
    periods_with,
    releases_that_fit,
    rolling_years,
    worst,
)
from density_assets.privacy.release import Charge
from density_assets.settings import Settings

SIMULATED = "simulated people of "


class BudgetRefused(RuntimeError):
    """The release would cost more than is left: nothing was charged and nothing drawn."""


@dataclass(frozen=True)
class Budget:
    """What the weeks of a calendar year, and any 52 consecutive ones, may cost together, for one population."""

    epsilon: float
    delta: float

    @classmethod
    def of(cls, settings: Settings) -> "Budget":
        """The budget that settings give."""
        return cls(settings.privacy.budget_epsilon, settings.privacy.budget_delta)

    @classmethod
    def checked(cls, epsilon: float, delta: float) -> "Budget":
        """A budget that a person gives, held to the same limits as that of settings."""
        return cls.of(Settings().with_privacy(budget_epsilon=epsilon, budget_delta=delta))


@dataclass(frozen=True)
class Row:
    """A charge as it stands in the ledger.

    row: its number among charges. entry: its number in the chain.
    drawn: whether noise was drawn under it, or may have been.
    digest: of the draw it paid for; none until that is finished.
    nonce: makes two charges differ that are otherwise equal.
    by, reason, how: who asked for the release, why, and by which way.
    release: everything that decided the draw, so that a drawn week keeps it. software: what drew.
    """

    row: int
    at: str
    charge: Charge
    hash: str
    drawn: bool
    digest: str | None = None
    entry: int = 0
    nonce: str = ""
    by: str = ""
    reason: str = ""
    how: str = ""
    release: Mapping[str, Any] = field(default_factory=dict)
    software: Mapping[str, str] = field(default_factory=dict)

    def public_record(self) -> dict[str, Any]:
        """Return the charge as plain data, for statements."""
        charge = self.charge
        return {
            **charge.identity(),
            "door": charge.door,
            "measurement": charge.measurement,
            "events": [to_record(event) for event in charge.events],
            "at": self.at,
            "hash": self.hash,
            **({"draw": self.digest} if self.digest else {}),
            "nonce": self.nonce,
            "by": self.by,
            "reason": self.reason,
            "how": self.how,
        }


def population_name(settings: Settings) -> str:
    """Whose budget a release is charged to: budgets follow people, so all real cities of a home share one."""
    return f"{SIMULATED}{settings.city.name}" if settings.city.synthetic else "subscribers"


def is_simulated(population: str) -> bool:
    """Whether nobody of a population exists."""
    return population.startswith(SIMULATED)


def budget_in_force(recorded: Budget | None, settings: Settings) -> Budget:
    """What a year may cost: the recorded budget, or less where settings state less; raises if they state more.

    recorded: none before the first charge, which records that of the settings.
    settings: only what a person wrote there counts; a default neither lowers nor raises what is recorded.
    """
    given, stated = Budget.of(settings), settings.privacy.model_fields_set
    if recorded is None:
        return given
    budget = Budget(
        given.epsilon if "budget_epsilon" in stated else recorded.epsilon,
        given.delta if "budget_delta" in stated else recorded.delta,
    )
    if budget.epsilon > recorded.epsilon or budget.delta > recorded.delta:
        raise BudgetRefused(
            f"the settings give a budget of epsilon {budget.epsilon:g} at delta {budget.delta:g}, recorded is "
            f"{recorded.epsilon:g} at {recorded.delta:g}: raising a budget is a recorded act, `density budget "
            "--give EPSILON --delta DELTA --by NAME --reason WHY`. Nothing was charged and nothing drawn"
        )
    return budget


def budget_to_show(recorded: Budget | None, settings: Settings) -> tuple[Budget, str]:
    """The budget in force, for reports; where settings ask for more, the recorded one and why that is refused."""
    try:
        return budget_in_force(recorded, settings), ""
    except BudgetRefused as refusal:
        return recorded or Budget.of(settings), str(refusal)


def charged_events(rows: Sequence[Row], population: str, year: str) -> list[Event]:
    """Every event charged to a population for the weeks of a calendar year."""
    return events_of(rows, population, calendar_year(date(int(year), 1, 1)))


def events_of(rows: Sequence[Row], population: str, period: Period | None = None) -> list[Event]:
    """Every event charged to a population, for the weeks of a period or for all."""
    return [
        event
        for row in rows
        if row.charge.population == population and (period is None or period.holds(monday_of(row.charge.week)))
        for event in row.charge.events
    ]


def weekly_costs(rows: Sequence[Row], population: str) -> dict[date, Composition]:
    """What each week of a population was charged, all revisions and doors together, in the order of weeks."""
    return _by_week(row.charge for row in rows if row.charge.population == population)


def _by_week(charges: Iterable[Charge]) -> dict[date, Composition]:
    weeks: dict[date, Composition] = {}
    for charge in charges:
        monday = monday_of(charge.week)
        weeks[monday] = weeks.get(monday, NOTHING) + compose(charge.events)
    return dict(sorted(weeks.items()))


def worst_rolling_year(rows: Sequence[Row], population: str, week: date, delta: float) -> Period:
    """Of all 52 consecutive weeks that hold a week those that cost most."""
    return worst(rolling_years(week, week), weekly_costs(rows, population), delta)


def price(rows: Sequence[Row], charged: Sequence[Charge], budget: Budget) -> str:
    """What the charges of a release, which the ledger holds already, cost, in one line; known from settings alone."""
    charge, week, delta = charged[0], monday_of(charged[0].week), budget.delta
    alone = _together(charged).epsilon(delta)
    weeks = weekly_costs(rows, charge.population)
    rolling = worst(rolling_years(week, week), weeks, delta)
    spent, year = rolling.cost(weeks).epsilon(delta), calendar_year(week).cost(weeks).epsilon(delta)
    return (
        f"revision {charge.revision} of the week of {week} costs epsilon {alone:.3f} alone, at delta {delta:g}; "
        f"{charge.population}: {spent:.3f} of {budget.epsilon:g} are spent in the {rolling}, "
        f"{budget.epsilon - spent:.3f} are left; {year:.3f} are spent in {week.year}, "
        f"{sum(weeks.values(), NOTHING).epsilon(delta):.3f} in {_all_weeks(len(weeks))}"
    )


def _all_weeks(number: int) -> str:
    return "1 week" if number == 1 else f"all {number} weeks"


def refuse_over_budget(rows: Sequence[Row], due: Sequence[Charge], budget: Budget) -> None:
    """Raise if the charges of a release would pass their population's budget, in any period that holds their week.

    Guarantees: whatever was charged in whichever order, no calendar year and no 52 consecutive weeks of a population
    cost more than the budget.
    """
    population = due[0].population
    before = weekly_costs(rows, population)
    after = _by_week([*(row.charge for row in rows if row.charge.population == population), *due])
    periods = dict.fromkeys(period for charge in due for period in periods_with(monday_of(charge.week)))
    period = worst(periods, after, budget.delta)
    if period.cost(after).epsilon(budget.delta) > budget.epsilon:
        raise BudgetRefused(_refusal(population, period, before, after, _together(due), budget))


def _refusal(population: str, period: Period, before: Weeks, after: Weeks, asked: Composition, budget: Budget) -> str:
    spent, alone, together = (cost.epsilon(budget.delta) for cost in (period.cost(before), asked, period.cost(after)))
    fit = releases_that_fit(asked, budget.epsilon, budget.delta)
    return (
        f"the releases of the {period} for {population} may cost epsilon {budget.epsilon:g} at delta "
        f"{budget.delta:g} together: spent {spent:.3f}, this release costs {alone:.3f} alone and would make "
        f"{together:.3f}. Left are {max(budget.epsilon - spent, 0):.3f}; an unspent budget is enough for "
        f"{fit} such releases. Nothing was charged and nothing drawn; lower privacy.epsilon, or leave out weeks until "
        "fewer of them count"
    )


def _together(charges: Sequence[Charge]) -> Composition:
    return compose(event for charge in charges for event in charge.events)
