from datetime import date, timedelta

import pytest

from density_assets.errors import BadInput
from density_assets.privacy.composition import NOTHING, compose, gaussian_epsilon
from density_assets.privacy.events import Gaussian
from density_assets.privacy.periods import AHEAD, epsilon_that_fits, releases_that_fit, weeks_that_fit

DELTA = 1e-5
WEEK = compose([Gaussian("week", 1_250.0, 100.0)])  # 52 of them cost 2.337
MONDAY = date(2007, 1, 1)


def release_at(mu):
    return [Gaussian("week", 1_000.0, 1_000 * mu)]


def cost_of(count):
    return (WEEK * count).epsilon(DELTA) + 1e-9  # sums and products differ in the last digits


def in_a_row(count, cost=WEEK, first=MONDAY):
    return {first + timedelta(weeks=number): cost for number in range(count)}


def test_as_many_releases_fit_as_do_and_one_more_does_not():
    fits = releases_that_fit(WEEK, 1.5, DELTA)
    assert (WEEK * fits).epsilon(DELTA) <= 1.5 < (WEEK * (fits + 1)).epsilon(DELTA)
    assert releases_that_fit(WEEK, 0.01, DELTA) == 0


def test_releases_that_cost_nothing_are_not_counted():
    with pytest.raises(ValueError, match="a release must cost something"):
        releases_that_fit(NOTHING, 3.0, DELTA)


def test_weeks_fit_until_52_of_them_or_a_year_would_pass():
    limit = cost_of(30)
    assert weeks_that_fit({}, WEEK, MONDAY, limit, DELTA) == 30
    charged = in_a_row(10)
    following = MONDAY + timedelta(weeks=10)
    assert weeks_that_fit(charged, WEEK, following, limit, DELTA) == 20
    assert weeks_that_fit(charged, WEEK, following + timedelta(weeks=10), limit, DELTA) == 20  # ten are still there
    assert weeks_that_fit(charged, WEEK, MONDAY + timedelta(weeks=53), limit, DELTA) == 30  # all but eight have expired


def test_what_fits_a_year_of_53_mondays_fits_for_ever():
    assert weeks_that_fit({}, WEEK, MONDAY, cost_of(53), DELTA) == AHEAD
    later = date(2008, 1, 7)  # the years from here to 2011 have 52
    assert weeks_that_fit({}, WEEK, later, cost_of(52), DELTA) == (date(2012, 12, 31) - later).days // 7
    assert weeks_that_fit({}, WEEK, MONDAY, 3.0, DELTA, most=7) == 7


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
