"""Looking ahead: how much more fits a budget, before anything is spent."""

from collections.abc import Callable, Sequence
from datetime import date

from density_assets.errors import BadInput
from density_assets.privacy.composition import Composition, compose
from density_assets.privacy.events import Event
from density_assets.privacy.periods import WEEK, Weeks, calendar_year, ending_with

AHEAD = 8 * 53  # weeks; every eight years hold one with 53 Mondays, so what fits these fits for ever
CLOSE = 1.005  # an epsilon that fits is found to half a percent


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
