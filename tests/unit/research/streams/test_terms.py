"""What a stream may spend: in every window, for the worst-off user, and never more."""

import math

import numpy as np
import pytest

from density_assets.errors import BadInput
from density_assets.privacy.composition import spent
from density_assets.privacy.events import Gaussian, Laplace
from density_assets.research.streams.terms import (
    Charge,
    StreamParameters,
    Terms,
    agreed_terms,
    dearest_events,
    expected_error,
    price,
    window_costs,
)


def test_prices_and_noise_are_inverse():
    pure, approximate = Terms(1.0, 24, 24, 3, True), Terms(0.1, 168, 10, 3, False)
    for event in (pure.counts_event(0.2), pure.sums_event(0.2), pure.distance_event(0.2, 7)):
        assert isinstance(event, Laplace)
        assert price(event, True) == pytest.approx(0.2)
    for event in (approximate.counts_event(0.02), approximate.sums_event(0.02), approximate.distance_event(0.02, 7)):
        assert isinstance(event, Gaussian)
        assert price(event, False) == pytest.approx(0.02)
    assert pure.counts_event(0.2).sensitivity == 3
    assert approximate.counts_event(0.02).sensitivity == pytest.approx(math.sqrt(3))
    assert approximate.sums_event(0.02).sensitivity == 3
    assert approximate.distance_event(0.02, 7).sensitivity == pytest.approx(3 / 7)


def test_a_window_costs_its_dearest_hours():
    terms = Terms(1.0, 3, 2, 1, True)
    charges = [Charge(hour, Laplace("x", 1 / cost, 1.0)) for hour, cost in enumerate((0.1, 0.2, 0.3, 0.4))]
    assert window_costs(charges, terms, 4) == pytest.approx([0.5, 0.7])
    assert [event.scale for event in dearest_events(charges, terms, 4)] == pytest.approx([1 / 0.3, 1 / 0.4])


def test_too_dear_a_window_is_refused():
    terms = Terms(0.69, 3, 2, 1, True)
    charges = [Charge(hour, Laplace("x", 1 / cost, 1.0)) for hour, cost in enumerate((0.1, 0.2, 0.3, 0.4))]
    with pytest.raises(ArithmeticError, match="refuse to publish"):
        dearest_events(charges, terms, 4)


def test_noise_without_a_price_in_pure_dp_is_refused():
    with pytest.raises(ValueError, match="only Laplace"):
        price(Gaussian("x", 1.0, 1.0), True)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 10.0])
def test_a_week_costs_what_was_asked_and_hardly_less(epsilon):
    terms, total = agreed_terms(StreamParameters(epsilon=epsilon, hours_per_user=7, visits_per_hour=2), 168, 168)
    hours = [terms.counts_event(terms.budget / terms.active)] * terms.active
    assert 0.99 * epsilon <= spent([*hours, total], 1e-6).epsilon <= epsilon


def test_users_are_active_in_no_more_hours_than_are_published():
    assert agreed_terms(StreamParameters(hours_per_user=50), 168, 28)[0].active == 28
    assert agreed_terms(StreamParameters(unit="w hours", window=24), 168, 4)[0].active == 4


def test_a_window_longer_than_the_traces_is_refused():
    with pytest.raises(BadInput, match="at most the 168 hours"):
        agreed_terms(StreamParameters(unit="w hours", window=200), 168, 168)


def test_expected_errors_are_those_of_the_noise():
    random = np.random.default_rng(0)
    assert expected_error(Laplace("x", 3.0, 1.0)) == pytest.approx(np.abs(random.laplace(0, 3, 200_000)).mean(), 0.02)
    assert expected_error(Gaussian("x", 3.0, 1.0)) == pytest.approx(np.abs(random.normal(0, 3, 200_000)).mean(), 0.02)
