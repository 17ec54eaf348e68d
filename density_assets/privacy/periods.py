"""The periods a budget limits: every calendar year, and every 52 consecutive weeks.

People do not begin anew on the first of January, so a budget for calendar years alone lets two years' worth of releases
stand side by side around New Year. A calendar year has 52 or 53 Mondays, so it can cost a little more than 52 weeks.

Looking ahead, the same periods say how much more fits a budget, before anything is spent.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from density_assets.errors import BadInput
from density_assets.privacy.composition import NOTHING, Composition, compose
from density_assets.privacy.events import Event

YEAR = 52  # weeks that follow one another
WEEK = timedelta(weeks=1)
AHEAD = 8 * 53  # weeks; every eight years hold one with 53 Mondays, so what fits these fits for ever
CLOSE = 1.005  # an epsilon that fits is found to half a percent

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


def releases_that_fit(release: Composition, epsilon: float, delta: float) -> int:
    """How many releases like this one, of weeks in one period, stay within epsilon."""
    if not release.rho:
        raise ValueError("a release must cost something, got one without events: any number of them would fit")
    fits, too_many = 0, 1
    while (release * too_many).epsilon(delta) <= epsilon:
        fits, too_many = too_many, 2 * too_many
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        fits, too_many = (middle, too_many) if (release * middle).epsilon(delta) <= epsilon else (fits, middle)
    return fits


def weeks_that_fit(
    weeks: Weeks, release: Composition, first: date, epsilon: float, delta: float, most: int = AHEAD
) -> int:
    """How many weeks in a row from `first` on can be released like this one, each once, in any period; `most` at most.

    first: a Monday after all weeks that were charged, so that the periods which cost most end with the newest week.
    """
    for number in range(most):
        week = first + number * WEEK
        for period in (calendar_year(week), ending_with(week)):
            planned = number + 1 - max((period.first - first) // WEEK, 0)  # of its weeks
            if (period.cost(weeks) + release * planned).epsilon(delta) > epsilon:
                return number
    return most


def epsilon_that_fits(
    release_at: Callable[[float], Sequence[Event]], fits: Callable[[Composition], bool], largest: float
) -> float:
    """The largest epsilon of one release that fits, not above `largest`; zero if a release of 0.001 does not."""

    def enough(epsilon: float) -> bool:
        try:
            return fits(compose(release_at(epsilon)))
        except BadInput:  # there is no such release
            return False

    low, high = 1e-3, max(largest, 2e-3)
    if not enough(low):
        return 0.0
    if enough(high):
        return high
    while high > CLOSE * low:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if enough(middle) else (low, middle)
    return low
