import dp_accounting as dpa
import pytest

from density_assets.privacy.accounting import rdp_bound
from density_assets.privacy.events import Gaussian
from density_assets.privacy.planning import cost_of, epsilon_that_fits, releases_that_fit

DELTA = 1e-5


def release_at(epsilon):
    return [Gaussian("week", dpa.get_sigma_gaussian(epsilon, 2e-6), 1.0)]


def test_costs_are_those_of_the_ledger():
    week = release_at(0.3)
    assert cost_of(week * 3, week, 4, DELTA) == pytest.approx(rdp_bound(week * 7, DELTA).epsilon)
    assert cost_of([], week, 0, DELTA) == 0


def test_as_many_releases_fit_as_do_and_one_more_does_not():
    week = release_at(0.3)
    fits = releases_that_fit(week * 5, week, 1.5, DELTA)
    assert cost_of(week * 5, week, fits, DELTA) <= 1.5 < cost_of(week * 5, week, fits + 1, DELTA)
    assert releases_that_fit([], week, 0.01, DELTA) == 0


def test_the_epsilon_that_fits_a_year():
    epsilon = epsilon_that_fits(release_at, [], 52, 1.0, DELTA)
    assert 0.12 < epsilon < 0.13
    assert cost_of([], release_at(epsilon), 52, DELTA) == pytest.approx(1.0, rel=0.01)


def test_nothing_fits_a_spent_budget():
    assert epsilon_that_fits(release_at, release_at(1.0) * 10, 52, 1.0, DELTA) == 0.0
