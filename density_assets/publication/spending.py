"""What releases have cost a population, week by week: alone, in the calendar year, in 52 weeks and in all."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import accumulate, groupby
from typing import Any

from density_assets.privacy.charges import Row, weekly_costs
from density_assets.privacy.composition import NOTHING, Composition, compose
from density_assets.privacy.periods import WEEK, YEAR, Weeks, rolling_years
from density_assets.privacy.release import Charge


@dataclass(frozen=True)
class Spending:
    """What the releases of a calendar year cost: epsilon for each of its weeks, in order.

    epsilon: of the calendar year up to and with the week.
    alone: of the week.
    rolling: of the 52 consecutive weeks that cost most among those that hold the week, later weeks included.
    lifetime: of all weeks up to and with this one.
    releases: how many there are; a week has several if it was revised, or if several cities share its budget.
    """

    year: str
    weeks: tuple[str, ...]
    epsilon: tuple[float, ...]
    alone: tuple[float, ...]
    rolling: tuple[float, ...]
    lifetime: tuple[float, ...]
    releases: int

    @property
    def count(self) -> str:
        """How many releases of how many weeks, in words."""
        return counted(self.releases, len(self.weeks))


def counted(releases: int, weeks: int) -> str:
    """For example `8 releases of 7 weeks`: of one week there may be several."""
    return f"{_number(releases, 'release')} of {counted_weeks(weeks)}"


def counted_weeks(weeks: int) -> str:
    """For example `1 week`."""
    return _number(weeks, "week")


def releases_of(charges: Iterable[Charge]) -> set[tuple[Any, ...]]:
    """The releases that charges are for: each has one charge per door, and more where a run was killed."""
    return {tuple(charge.which.values()) for charge in charges}


def spending(rows: Sequence[Row], population: str, delta: float) -> list[Spending]:
    """Each calendar year of a population, as the ledger adds it up at the budget's delta.

    A charge counts for the week it releases, whenever it was made, so the order of releases does not matter.
    """
    weeks = weekly_costs(rows, population)
    charges = [row.charge for row in rows if row.charge.population == population]
    rolling = _worst_rolling(weeks, delta)
    lifetime = dict(zip(weeks, _epsilons(accumulate(weeks.values()), delta), strict=True))
    return [
        Spending(
            year=f"{year}",
            weeks=tuple(week.isoformat() for week in mondays),
            epsilon=_epsilons(accumulate(weeks[week] for week in mondays), delta),
            alone=_epsilons((weeks[week] for week in mondays), delta),
            rolling=tuple(rolling[week] for week in mondays),
            lifetime=tuple(lifetime[week] for week in mondays),
            releases=len(releases_of(charge for charge in charges if charge.year == f"{year}")),
        )
        for year, mondays in ((year, list(group)) for year, group in groupby(weeks, lambda week: week.year))
    ]


def year_so_far(rows: Iterable[Row], delta: float) -> list[float]:
    """For each row of the ledger: what its population's calendar year had cost when it was charged, in one pass."""
    years: dict[tuple[str, str], Composition] = {}
    epsilons = []
    for row in rows:
        key = row.charge.population, row.charge.year
        years[key] = years.get(key, NOTHING) + compose(row.charge.events)
        epsilons.append(years[key].epsilon(delta))
    return epsilons


def _epsilons(costs: Iterable[Composition], delta: float) -> tuple[float, ...]:
    return tuple(cost.epsilon(delta) for cost in costs)


def _worst_rolling(weeks: Weeks, delta: float) -> dict[date, float]:
    """For each week the largest epsilon of the 52 consecutive weeks that hold it."""
    if not weeks:
        return {}
    first, last = min(weeks), max(weeks)
    periods = [period.cost(weeks).epsilon(delta) for period in rolling_years(first, last)]
    return {week: max(periods[(week - first) // WEEK :][:YEAR]) for week in weeks}


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
