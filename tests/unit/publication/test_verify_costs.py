"""What events cost: the verifier's own computation beside the one that chose the noise."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr

from density_assets.privacy.composition import spent
from density_assets.privacy.events import (
    Event,
    Gaussian,
    Laplace,
    LaplaceVector,
    Selection,
    SparseVector,
    WindowSelection,
    to_record,
)
from density_assets.publication.verify import Damaged, epsilon_of, gaussian_delta
from density_assets.schemes import SCHEMES
from density_assets.settings import Settings

ratios = st.floats(0.005, 2)
deltas = st.floats(1e-9, 1e-5)


def cost(events: list[Event], delta: float) -> float:
    return epsilon_of([to_record(event) for event in events], delta)


@given(st.lists(ratios, min_size=1, max_size=5), deltas)
def test_gaussians_cost_what_the_exact_curve_says(noise, delta):
    events = [Gaussian("q", 1.0, ratio) for ratio in noise]
    assert cost(events, delta) == pytest.approx(spent(events, delta).epsilon, rel=1e-6)


@settings(max_examples=20)
@given(st.lists(ratios, min_size=1, max_size=3), st.lists(ratios, max_size=2), deltas)
def test_laplace_noise_costs_what_its_loss_distribution_says(laplace, gaussian, delta):
    events: list[Event] = [Laplace("q", 1.0, ratio) for ratio in laplace]
    events += [Gaussian("q", 1.0, ratio) for ratio in gaussian]
    ours, theirs = cost(events, delta), spent(events, delta).epsilon
    assert ours == pytest.approx(theirs, rel=2e-3, abs=4e-4)  # theirs rounds losses up to 1e-4, event by event
    assert ours <= sum(laplace) + cost([Gaussian("q", 1.0, ratio) for ratio in gaussian], delta) + 1e-6


@given(st.lists(ratios, min_size=1, max_size=3), st.floats(0.01, 1), deltas)
def test_mixtures_cost_what_renyi_divergence_says(noise, epsilon, delta):
    events = [Selection("s", epsilon, 3.0), *(Laplace("q", 1.0, ratio) for ratio in noise)]
    events.append(Gaussian("g", 2.0, noise[0]))
    assert cost(events, delta) == pytest.approx(spent(events, delta).epsilon, rel=2e-3)


@pytest.mark.parametrize(
    "event",
    [
        LaplaceVector("q", 100.0, 5.5),
        Selection("q", 0.1, 5.5),
        WindowSelection("q", 0.1, 5.5, 0.3),
        SparseVector("q", 0.01, 100.0, 1.0, 28),
        SparseVector("q", 0.01, 100.0, 1.0, 28, distance=2.0, streams=3, change=0.25),
        SparseVector("q", 0.001, 1000.0, 1.0, 5, pure=True),
    ],
)
def test_every_kind_of_event_is_known(event):
    assert cost([event], 2e-6) == pytest.approx(spent([event], 2e-6).epsilon, rel=2e-3)


@pytest.mark.parametrize("name", SCHEMES)
def test_what_every_scheme_plans_is_within_its_promise(name):
    """The calibration leaves a tenth of a percent; our computation must not need more."""
    chosen = Settings()
    chosen = chosen.model_copy(update={"scheme": chosen.scheme.model_copy(update={"name": name})})
    events = [event for door in SCHEMES[name].plan(chosen).values() for event in door]
    assert 0.9 * chosen.privacy.epsilon < cost(events, chosen.privacy.delta) <= chosen.privacy.epsilon


def test_noise_that_is_one_percent_too_small_is_noticed():
    chosen = Settings()
    plan = SCHEMES["lowrank"].plan(chosen)
    less = [Gaussian(e.query, 0.99 * e.sigma, e.sensitivity) for door in plan.values() for e in door]
    assert cost(less, chosen.privacy.delta) > chosen.privacy.epsilon


@given(st.floats(-30, 800), st.floats(1e-3, 60))
def test_the_gaussian_curve_by_logarithms(epsilon, mu):
    """A third way to write the same formula, precise where the two terms are far apart."""
    first, second = log_ndtr(mu / 2 - epsilon / mu), epsilon + log_ndtr(-mu / 2 - epsilon / mu)
    expected = math.exp(first) * -math.expm1(min(second - first, 0.0)) if first > -700 else 0.0
    assert gaussian_delta(epsilon, mu) == pytest.approx(expected, rel=1e-6, abs=1e-13)


def test_nothing_costs_nothing_and_little_noise_costs_everything():
    assert epsilon_of([], 1e-6) < 1e-9
    for sigma in (1e-300, 1e-150):  # beyond computing, and nearly
        assert cost([Gaussian("q", sigma, 1.0)], 1e-6) > 1e200
    assert cost([Laplace("q", 1e-3, 1.0)], 1e-6) == pytest.approx(1000, rel=1e-2)
    assert cost([Laplace("q", 1e-300, 1.0)], 1e-6) > 1e200
    many = [Laplace("q", 100.0, 1.0)] * 3000
    assert math.isfinite(cost(many, 1e-6))


@pytest.mark.parametrize(
    "event",
    [
        None,
        {},
        {"kind": "magic", "query": "q"},
        {"kind": "gaussian", "query": "q", "sigma": 1.0},
        {"kind": "gaussian", "query": "q", "sigma": 0.0, "sensitivity": 1.0},
        {"kind": "gaussian", "query": "q", "sigma": -1.0, "sensitivity": 1.0},
        {"kind": "gaussian", "query": "q", "sigma": True, "sensitivity": 1.0},
        {"kind": "gaussian", "query": "q", "sigma": "1", "sensitivity": 1.0},
        {"kind": "gaussian", "query": "q", "sigma": 1.0, "sensitivity": 1.0, "discount": 0.5},
        {"kind": ["gaussian"], "query": "q", "sigma": 1.0, "sensitivity": 1.0},
        {"kind": "sparse_vector", "query": "q", "epsilon": 1.0, "scale": 1.0, "sensitivity": 1.0, "releases": 0},
        {"kind": "sparse_vector", "query": "q", "epsilon": 1.0, "scale": 1.0, "sensitivity": 1.0, "releases": 1.5},
        {**to_record(SparseVector("q", 0.01, 100.0, 1.0, 28)), "streams": -1},
        {**to_record(SparseVector("q", 0.01, 100.0, 1.0, 28)), "pure": 1},
    ],
)
def test_an_event_that_cannot_be_accounted_for_is_refused(event):
    with pytest.raises(Damaged, match="event"):
        epsilon_of([event], 1e-6)
