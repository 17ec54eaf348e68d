"""Calendar years have 52 or 53 Mondays, and 52 weeks may lie anywhere."""

from datetime import date, timedelta

import pytest

from density_assets.errors import BadInput
from density_assets.privacy.composition import NOTHING, compose, gaussian_epsilon
from density_assets.privacy.events import Gaussian
from density_assets.privacy.periods import (
    AHEAD,
    Period,
    calendar_year,
    ending_with,
    epsilon_that_fits,
    monday_of,
    periods_with,
    releases_that_fit,
    rolling_years,
    weeks_that_fit,
    worst,
)

WEEK = timedelta(weeks=1)
COST = compose([Gaussian("q", 50.0, 1.0)])


@pytest.mark.parametrize(
    ("week", "first", "last", "mondays"),
    [
        ("2007-09-10", "2007-01-01", "2007-12-31", 53),
        ("2008-01-07", "2008-01-07", "2008-12-29", 52),
        ("2012-01-02", "2012-01-02", "2012-12-31", 53),
        ("2023-12-25", "2023-01-02", "2023-12-25", 52),
    ],
)
def test_a_calendar_year_holds_the_weeks_whose_monday_is_in_it(week, first, last, mondays):
    year = calendar_year(date.fromisoformat(week))
    assert (year.first, year.last) == (date.fromisoformat(first), date.fromisoformat(last))
    every = [date(2006, 1, 2) + n * WEEK for n in range(1_000)]
    assert sum(map(year.holds, every)) == mondays
    assert {monday.year for monday in every if year.holds(monday)} == {int(week[:4])}


def test_every_52_weeks_that_hold_a_week_and_no_others():
    week = date(2007, 12, 31)
    windows = rolling_years(week, week)
    assert len(windows) == 52
    assert (windows[0].last, windows[-1].first) == (week, week)
    assert all((window.last - window.first) // WEEK == 51 and window.holds(week) for window in windows)
    assert not ending_with(week - WEEK).holds(week)
    assert periods_with(week) == [calendar_year(week), *windows]


def test_the_cost_of_a_period_is_that_of_its_weeks():
    weeks = {date(2007, 1, 1) + n * WEEK: COST for n in range(0, 120, 2)}
    assert ending_with(date(2008, 3, 3)).cost(weeks).rho == pytest.approx(26 * COST.rho)
    assert calendar_year(date(2007, 5, 7)).cost(weeks).rho == pytest.approx(27 * COST.rho)
    assert Period(date(2030, 1, 7), date(2030, 1, 7)).cost(weeks).rho == 0


def test_the_worst_period_is_where_weeks_are_dense():
    weeks = {date(2007, 1, 1) + n * WEEK: COST for n in (0, 40, 60, 70, 80, 90, 140)}
    found = worst(rolling_years(min(weeks), max(weeks)), weeks, 1e-5)
    assert found == ending_with(date(2007, 1, 1) + 90 * WEEK)  # holds five of them, and ends first
    assert str(found) == f"52 weeks from {found.first} to {found.last}"


def test_a_week_that_a_wrong_day_names_is_counted_all_the_same():
    assert monday_of("2007-09-13") == monday_of("2007-09-10") == date(2007, 9, 10)


DELTA = 1e-5
OF_A_WEEK = compose([Gaussian("week", 1_250.0, 100.0)])  # 52 of them cost 2.337
MONDAY = date(2007, 1, 1)


def release_at(mu):
    return [Gaussian("week", 1_000.0, 1_000 * mu)]


def cost_of(count):
    return (OF_A_WEEK * count).epsilon(DELTA) + 1e-9  # sums and products differ in the last digits


def in_a_row(count, cost=OF_A_WEEK, first=MONDAY):
    return {first + timedelta(weeks=number): cost for number in range(count)}


def test_as_many_releases_fit_as_do_and_one_more_does_not():
    fits = releases_that_fit(OF_A_WEEK, 1.5, DELTA)
    assert (OF_A_WEEK * fits).epsilon(DELTA) <= 1.5 < (OF_A_WEEK * (fits + 1)).epsilon(DELTA)
    assert releases_that_fit(OF_A_WEEK, 0.01, DELTA) == 0


def test_releases_that_cost_nothing_are_not_counted():
    with pytest.raises(ValueError, match="a release must cost something"):
        releases_that_fit(NOTHING, 3.0, DELTA)


def test_weeks_fit_until_52_of_them_or_a_year_would_pass():
    limit = cost_of(30)
    assert weeks_that_fit({}, OF_A_WEEK, MONDAY, limit, DELTA) == 30
    charged = in_a_row(10)
    following = MONDAY + timedelta(weeks=10)
    assert weeks_that_fit(charged, OF_A_WEEK, following, limit, DELTA) == 20
    assert weeks_that_fit(charged, OF_A_WEEK, following + timedelta(weeks=10), limit, DELTA) == 20  # ten remain
    assert weeks_that_fit(charged, OF_A_WEEK, MONDAY + timedelta(weeks=53), limit, DELTA) == 30  # eight remain


def test_what_fits_a_year_of_53_mondays_fits_for_ever():
    assert weeks_that_fit({}, OF_A_WEEK, MONDAY, cost_of(53), DELTA) == AHEAD
    later = date(2008, 1, 7)  # the years from here to 2011 have 52
    assert weeks_that_fit({}, OF_A_WEEK, later, cost_of(52), DELTA) == (date(2012, 12, 31) - later).days // 7
    assert weeks_that_fit({}, OF_A_WEEK, MONDAY, 3.0, DELTA, most=7) == 7


def test_the_largest_epsilon_that_fits_is_found_to_half_a_percent():
    found = epsilon_that_fits(release_at, lambda cost: (cost * 52).epsilon(DELTA) <= 2.0, 3.0)
    exact = gaussian_epsilon(52**0.5 * found, DELTA)
    assert 1.985 < exact <= 2.0
    assert epsilon_that_fits(release_at, lambda cost: True, 3.0) == 3.0
    assert epsilon_that_fits(release_at, lambda cost: False, 3.0) == 0.0


def test_a_release_that_cannot_be_made_does_not_fit():
    def coarse(epsilon):
        if epsilon > 0.5:
            raise BadInput("too little noise for whole numbers")
        return release_at(epsilon)

    assert 0.497 < epsilon_that_fits(coarse, lambda cost: True, 3.0) <= 0.5
