"""What releases have cost a population, calendar year by calendar year."""

from collections.abc import Sequence
from dataclasses import dataclass

from density_assets.privacy.charges import Row
from density_assets.privacy.planning import cost_of
from density_assets.privacy.release import Charge


@dataclass(frozen=True)
class Spending:
    """What a calendar year's releases cost together: epsilon after each of its weeks, in order."""

    year: str
    weeks: tuple[str, ...]
    epsilon: tuple[float, ...]


def spending(rows: Sequence[Row], population: str, delta: float) -> list[Spending]:
    """Each calendar year of a population, as the ledger adds it up at the budget's delta.

    A charge counts for the week it releases, whenever it was made, so the order of releases does not matter.
    """
    charges = [row.charge for row in rows if row.charge.population == population]
    return [_year(charges, year, delta) for year in sorted({charge.week[:4] for charge in charges})]


def _year(charges: Sequence[Charge], year: str, delta: float) -> Spending:
    weeks = sorted({charge.week for charge in charges if charge.week.startswith(year)})
    events = {week: [event for charge in charges if charge.week == week for event in charge.events] for week in weeks}
    upto = ([event for week in weeks[: n + 1] for event in events[week]] for n in range(len(weeks)))
    return Spending(year, tuple(weeks), tuple(cost_of(spent, [], 0, delta) for spent in upto))
