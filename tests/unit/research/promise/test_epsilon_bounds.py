"""Bounds on epsilon hold as often as they say; the largest AUC a promise allows is reached."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import roc_auc_score

from density_assets.research.promise.epsilon_bounds import (
    epsilon_bound,
    gaussian_bound,
    gaussian_epsilon,
    largest_auc,
    resolution,
    smallest_epsilon,
    upper_rate,
)

RUNS = 20_000
ALPHA = 0.05


def laplace(epsilon: float, seed: int, runs: int = RUNS) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.laplace(1, 1 / epsilon, runs), random.laplace(0, 1 / epsilon, runs)


def gaussian(mu: float, seed: int, runs: int = RUNS) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.normal(mu, 1, runs), random.normal(0, 1, runs)


def randomised_response(epsilon: float, seed: int, runs: int = RUNS) -> tuple[np.ndarray, np.ndarray]:
    random, honest = np.random.default_rng(seed), math.exp(epsilon) / (1 + math.exp(epsilon))
    return (random.random(runs) < honest).astype(float), (random.random(runs) >= honest).astype(float)


@pytest.mark.parametrize(("events", "runs"), [(0, 10), (3, 10), (10, 10), (0, 1), (71, 5_000)])
@pytest.mark.parametrize("alpha", [0.2, 0.05, 1e-4])
def test_rates_are_those_of_the_exact_binomial_interval(events, runs, alpha):
    interval = binomtest(events, runs, alternative="less").proportion_ci(1 - alpha, method="exact")
    assert upper_rate(events, runs, alpha) == pytest.approx(interval.high, rel=1e-6)


def by_hand(present, absent, delta, alpha):
    """The same bound, one threshold at a time and in the words of the definition."""

    def bound(with_user, without, t):
        def upper(events, runs):
            return binomtest(events, runs, alternative="less").proportion_ci(1 - alpha / 2, method="exact").high

        missed = upper(sum(score < t for score in with_user), len(with_user))
        mistaken = upper(sum(score >= t for score in without), len(without))
        ratios = ((1 - missed - delta) / mistaken, (1 - mistaken - delta) / missed)
        return max(0.0, *(math.log(ratio) for ratio in ratios if ratio > 0))

    h, g = len(present) // 2, len(absent) // 2
    best = max(sorted({*present[:h], *absent[:g]}), key=lambda t: bound(present[:h], absent[:g], t))
    return bound(present[h:], absent[g:], best)


@pytest.mark.parametrize(("runs", "delta"), [(40, 0.0), (41, 0.01), (120, 1e-3)])
def test_the_bound_is_that_of_the_definition(runs, delta):
    present, absent = laplace(3.0, seed=runs, runs=runs)
    assert epsilon_bound(present, absent, delta, ALPHA) == pytest.approx(by_hand(present, absent, delta, ALPHA))


@pytest.mark.parametrize("sample", [laplace, randomised_response])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_the_bound_is_near_a_known_epsilon_and_hardly_ever_above(sample, epsilon):
    found = np.array([epsilon_bound(*sample(epsilon, seed), 0.0, ALPHA) for seed in range(40)])
    assert np.median(found) > 0.7 * epsilon
    assert np.count_nonzero(found > epsilon) <= 6  # of 40 at 5 %: more happens once in 290


def test_the_gaussian_bound_is_near_a_known_mu_and_hardly_ever_above():
    true = gaussian_epsilon(1.0, 1e-5)
    found = np.array([gaussian_bound(*gaussian(1.0, seed), 1e-5, ALPHA) for seed in range(40)])
    assert np.median(found) > 0.9 * true
    assert np.count_nonzero(found > true) <= 6
    assert gaussian_bound(*gaussian(1.0, 0), 1e-5, ALPHA) > epsilon_bound(*gaussian(1.0, 0), 1e-5, ALPHA)


def test_epsilon_of_mu_is_where_the_privacy_curve_reaches_delta():
    """delta(epsilon) of two normal distributions by numerical integration."""
    x = np.linspace(-12, 12, 400_001)
    density = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    shifted = np.exp(-((x - 0.8) ** 2) / 2) / math.sqrt(2 * math.pi)
    epsilon = gaussian_epsilon(0.8, 1e-4)
    delta = np.maximum(shifted - math.exp(epsilon) * density, 0).sum() * (x[1] - x[0])
    assert delta == pytest.approx(1e-4, rel=1e-3)
    assert gaussian_epsilon(0.0, 1e-6) == 0
    assert gaussian_epsilon(1e-7, 1e-6) == 0


def test_the_same_distribution_with_and_without_bounds_nothing():
    assert epsilon_bound(*gaussian(0.0, 3), 0.0, ALPHA) < 0.1
    assert gaussian_bound(np.zeros(100), np.zeros(100), 1e-6, ALPHA) == 0


def test_perfect_separation_shows_the_resolution_and_no_more():
    for runs, delta in ((100, 0.0), (1_001, 1e-3)):
        found = epsilon_bound(np.ones(runs), np.zeros(runs), delta, ALPHA)
        assert found == pytest.approx(resolution(runs, delta, ALPHA))
    # 500 runs count, none in error: the rate is below ln(40)/500 with confidence 97.5 %
    assert resolution(1_000, 0.0, ALPHA) == pytest.approx(math.log(500 / math.log(40)), rel=0.01)


def test_too_few_runs_are_refused():
    with pytest.raises(ValueError, match="two runs per side"):
        epsilon_bound(np.ones(1), np.ones(5), 0.0, ALPHA)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (0.3, 2e-6), (1.0, 1e-5), (1.0, 0.1), (5.0, 0.01)])
def test_the_closed_form_is_the_area_under_the_largest_curve(epsilon, delta):
    alpha = np.linspace(0, 1, 400_001)
    missed = np.maximum.reduce([0 * alpha, 1 - delta - np.exp(epsilon) * alpha, np.exp(-epsilon) * (1 - delta - alpha)])
    area = np.trapezoid(1 - missed, alpha)
    assert largest_auc(epsilon, delta) == pytest.approx(area, abs=1e-5)


def test_randomised_response_reaches_it():
    # Answers are true with chance e^ε/(1+e^ε), so the ROC curve has one corner, which lies on the bound.
    epsilon = 0.8
    true = math.exp(epsilon) / (1 + math.exp(epsilon))
    answers = np.random.default_rng(0).random(400_000) < np.repeat([1 - true, true], 200_000)
    reached = roc_auc_score(np.repeat([0, 1], 200_000), answers)
    assert reached == pytest.approx(largest_auc(epsilon, 0.0), abs=0.004)


def test_nothing_promised_allows_everything_and_everything_promised_nothing():
    assert largest_auc(0.0, 0.0) == 0.5
    assert largest_auc(50.0, 0.0) == pytest.approx(1.0)
    assert largest_auc(0.0, 1.0) == 1.0
    with pytest.raises(ValueError, match="epsilon >= 0"):
        largest_auc(-1.0, 0.0)


def test_the_epsilon_an_auc_shows_is_the_inverse():
    assert smallest_epsilon(largest_auc(0.7, 1e-5), 1e-5) == pytest.approx(0.7)
    assert smallest_epsilon(0.4, 0.0) == 0.0
    assert smallest_epsilon(1.0, 0.0) == math.inf
