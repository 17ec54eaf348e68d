"""Calendar years have 52 or 53 Mondays, and 52 weeks may lie anywhere."""

from datetime import date, timedelta

import pytest

from density_assets.privacy.composition import compose
from density_assets.privacy.events import Gaussian
from density_assets.privacy.periods import (
    Period,
    calendar_year,
    ending_with,
    monday_of,
    periods_with,
    rolling_years,
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
