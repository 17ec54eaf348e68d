"""Costs against closed forms and a second, independent method."""

import math

import dp_accounting as dpa
import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from density_assets.privacy.composition import compose, spent
from density_assets.privacy.events import Gaussian, Laplace, Selection

DELTA = 2e-6


def exact_gaussian_epsilon(mu: float, delta: float) -> float:
    """Dong, Roth & Su 2019, cor. 2.13."""
    return brentq(lambda e: norm.cdf(-e / mu + mu / 2) - math.exp(e) * norm.cdf(-e / mu - mu / 2) - delta, 0, 50)


def exact_zcdp_epsilon(rho: float, delta: float) -> float:
    """The best epsilon of rho-zCDP (Canonne, Kamath & Steinke 2020, prop. 12), over a fine grid of orders."""
    orders = 1 + np.geomspace(1e-2, 1e6, 200_000)
    return float((rho * orders + (np.log(1 / delta) - np.log(orders)) / (orders - 1) + np.log1p(-1 / orders)).min())


def test_gaussians_compose_to_one_exactly():
    events = [Gaussian("a", 30.0, 2.0), Gaussian("b", 50.0, 1.0)]
    mu = math.hypot(2 / 30, 1 / 50)
    bound = spent(events, DELTA)
    assert bound.accountant == "analytic Gaussian"
    assert bound.epsilon == pytest.approx(exact_gaussian_epsilon(mu, DELTA), rel=1e-6)


def test_rdp_is_above_the_exact_cost_and_not_far():
    events = [Gaussian("a", 15.0, 1.0)] * 10
    exact, bound = spent(events, DELTA).epsilon, compose(events).renyi_epsilon(DELTA)
    assert exact < bound < 1.1 * exact


def test_rdp_of_selections_is_their_zcdp():
    (rho, epsilons) = 0.02**2 / 8, [0.02] * 5
    bound = spent([Selection("k", e, 1.0) for e in epsilons], DELTA).epsilon
    assert bound < 5 * rho + 2 * math.sqrt(5 * rho * math.log(1 / DELTA))  # Bun & Steinke 2016, prop. 1.3
    assert bound == pytest.approx(exact_zcdp_epsilon(5 * rho, DELTA), rel=1e-3)


def test_laplace_alone_never_costs_more_than_its_pure_epsilon():
    bound = spent([Laplace("a", 10.0, 1.0)], DELTA)
    exact = 0.1 + 2 * math.log(1 - DELTA)  # its curve: delta = 1 - exp((epsilon - 0.1) / 2)
    assert exact <= bound.epsilon <= exact + 1e-3
    assert bound.accountant == "PLD"


def test_a_mixture_with_laplace_takes_the_better_of_pld_and_rdp():
    events = [Gaussian("a", 20.0, 1.0), Laplace("b", 50.0, 1.0)]
    pld = dpa.pld.PLDAccountant(value_discretization_interval=1e-4)
    pld.compose(dpa.ComposedDpEvent([event.dp_event for event in events]))
    best = min(pld.get_epsilon(DELTA), compose(events).renyi_epsilon(DELTA))
    assert spent(events, DELTA).epsilon == pytest.approx(best)


def test_nothing_costs_nothing():
    assert spent([], DELTA).epsilon == 0


@pytest.mark.parametrize("parts", [[0.5, 0.5], [0.1, 0.9], [0.25] * 4, [0.02] * 50])
@pytest.mark.parametrize("shift", [0.1, 1.0, 3.0])
def test_laplace_noise_on_many_values_costs_no_more_than_on_one(parts, shift):
    """A change of L1 norm `shift` split over several values is dominated by all of it on one value."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    whole = pld.from_laplace_mechanism(1 / shift, value_discretization_interval=1e-4)
    split = pld.from_laplace_mechanism(1 / (parts[0] * shift), value_discretization_interval=1e-4)
    for part in parts[1:]:
        split = split.compose(pld.from_laplace_mechanism(1 / (part * shift), value_discretization_interval=1e-4))
    slack = 1e-4 * len(parts)  # both are rounded up to the grid
    for epsilon in np.linspace(0, shift, 11):
        assert split.get_delta_for_epsilon(epsilon + slack) <= whole.get_delta_for_epsilon(epsilon) + 1e-9
