"""The periods a budget limits: every calendar year, and every 52 consecutive weeks.

People do not begin anew on the first of January, so a budget for calendar years alone lets two years' worth of releases
stand side by side around New Year. A calendar year has 52 or 53 Mondays, so it can cost a little more than 52 weeks.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from density_assets.privacy.composition import NOTHING, Composition

YEAR = 52  # weeks that follow one another
WEEK = timedelta(weeks=1)

Weeks = Mapping[date, Composition]  # what was charged for each week, by its Monday


@dataclass(frozen=True)
class Period:
    """Consecutive weeks, by their first and last Monday."""

    first: date
    last: date
    name: str = f"{YEAR} weeks"

    def __str__(self) -> str:
        return f"{self.name} from {self.first} to {self.last}"

    def holds(self, week: date) -> bool:
        """Whether a week, named by its Monday, is one of them."""
        return self.first <= week <= self.last

    def cost(self, weeks: Weeks) -> Composition:
        """What was charged for its weeks, together."""
        mondays = (self.first + number * WEEK for number in range((self.last - self.first) // WEEK + 1))
        return sum((weeks[monday] for monday in mondays if monday in weeks), NOTHING)


def monday_of(week: str) -> date:
    """The Monday of a week as charges name it; a week that a wrong day names counts all the same."""
    day = date.fromisoformat(week)
    return day - timedelta(days=day.weekday())


def calendar_year(week: date) -> Period:
    """The weeks whose Monday falls into the year of this one."""
    first, last = date(week.year, 1, 1), date(week.year, 12, 31)
    to_monday = timedelta(days=-first.weekday() % 7)
    return Period(first + to_monday, last - timedelta(days=last.weekday()), f"calendar year {week.year}")


def ending_with(week: date) -> Period:
    """The 52 weeks that end with this one."""
    return Period(week - (YEAR - 1) * WEEK, week)


def rolling_years(first: date, last: date) -> list[Period]:
    """Every 52 consecutive weeks that hold one of the weeks from first to last, the earliest of them first."""
    return [ending_with(first + number * WEEK) for number in range((last - first) // WEEK + YEAR)]


def periods_with(week: date) -> list[Period]:
    """Every period that a charge for this week counts in; weeks that come later are part of some."""
    return [calendar_year(week), *rolling_years(week, week)]


def worst(periods: Iterable[Period], weeks: Weeks, delta: float) -> Period:
    """The period that costs most, and of equal ones the first."""
    return max(periods, key=lambda period: period.cost(weeks).epsilon(delta))
