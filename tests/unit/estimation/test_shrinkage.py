"""Denoising: exact without noise, silent on noise alone, and far better than the noisy values in between."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from density_assets.estimation.shrinkage import estimate, posterior, shrink

HOURS = np.arange(168)
TOWERS = 200


def grid(count: int) -> np.ndarray:
    """Towers 100 m apart, in rows of twenty."""
    return 100.0 * np.column_stack([np.arange(count) % 20, np.arange(count) // 20])


@pytest.fixture(scope="module")
def city() -> np.ndarray:
    """A matrix of rank three: day, evening and weekend people, mixed differently in the west and in the south."""
    hour, weekend = HOURS % 24, HOURS // 24 >= 5
    day = np.where(weekend, 0.2, 1.0) * np.exp(-(((hour - 13) / 4.0) ** 2))
    evening = np.exp(-(((hour - 20) / 3.0) ** 2))
    out = np.where(weekend, 1.0, 0.1) * (0.3 + np.sin(np.pi * hour / 24) ** 2)
    west, south = (grid(TOWERS) / grid(TOWERS).max(axis=0)).T
    size = np.random.default_rng(1).lognormal(0.0, 0.5, TOWERS)
    mix = np.column_stack([1 - west, west, 0.5 * south]) * size[:, None]
    return 100.0 * mix @ np.stack([day, evening, out])


def noisy(signal: np.ndarray, sigma: float, seed: int = 0) -> np.ndarray:
    return signal + np.random.default_rng(seed).normal(0.0, sigma, signal.shape)


def rms(errors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(errors**2)))


def test_one_singular_value_shrinks_as_by_hand():
    # 2 x 2, so β = 1 and the unit is sigma·sqrt(2) = 1. Then y = 4 becomes sqrt((16 - 2)² - 4)/4 = sqrt(12), and
    # y = 2 lies on the threshold 1 + sqrt(β) = 2: gone.
    shrunk = shrink(np.diag([4.0, 2.0]), 1 / np.sqrt(2))
    assert shrunk == pytest.approx(np.diag([np.sqrt(12.0), 0.0]))


def test_shrinking_does_not_care_which_side_is_longer(city):
    seen = noisy(city, 10.0)
    assert shrink(seen.T, 10.0) == pytest.approx(shrink(seen, 10.0).T)


@pytest.mark.parametrize("sigma", [0.0, 1e-6, 1e-3])
def test_without_noise_nothing_changes(city, sigma):
    assert rms(shrink(city, sigma) - city) <= sigma
    assert rms(estimate(city, sigma, grid(TOWERS)) - city) <= sigma


def test_noise_alone_is_removed():
    seen = noisy(np.zeros((TOWERS, 168)), 10.0)
    assert rms(shrink(seen, 10.0)) == 0.0
    assert rms(estimate(seen + 0.1, 10.0, grid(TOWERS))) < 0.1 * 10.0
    assert estimate(-np.abs(seen), 10.0, grid(TOWERS)).max() == 0.0


@pytest.mark.parametrize("sigma", [10.0, 30.0])
def test_both_beat_the_noisy_values_on_a_city_of_rank_three(city, sigma):
    seen = noisy(city, sigma)
    assert rms(shrink(seen, sigma) - city) < sigma / 5
    assert rms(estimate(seen, sigma, grid(TOWERS)) - city) < sigma / 4


def test_where_shrinkage_sees_nothing_neighbours_and_days_still_tell(city):
    sigma = 150.0
    seen = noisy(city, sigma)
    assert rms(estimate(seen, sigma, grid(TOWERS)) - city) < 0.8 * rms(shrink(seen, sigma) - city)


def test_estimates_are_not_negative(city):
    assert estimate(noisy(city, 100.0), 100.0, grid(TOWERS)).min() >= 0.0


def test_standard_errors_are_those_of_the_estimate(city):
    learned = posterior(noisy(city, 30.0), 30.0, grid(TOWERS))
    inside = np.abs(learned.mean - city) < 1.96 * learned.standard_error()
    assert 0.90 < inside.mean() < 0.99


def test_standard_errors_of_sums_know_that_errors_of_neighbours_are_alike(city):
    learned = posterior(noisy(city, 30.0), 30.0, grid(TOWERS))
    pairs = csr_array(np.kron(np.eye(TOWERS // 2), np.ones((1, 2))))
    inside = np.abs(pairs @ (learned.mean - city)) < 1.96 * learned.standard_error(pairs)
    assert 0.90 < inside.mean() < 0.99
    each = csr_array(np.eye(TOWERS))
    assert learned.standard_error(each) == pytest.approx(learned.standard_error())


def test_no_signal_leaves_the_noise_as_standard_error():
    assert posterior(np.full((3, 168), -1.0), 5.0, grid(3)).standard_error() == pytest.approx(5.0)


@pytest.mark.parametrize("towers", [1, 2, 3])
def test_a_few_towers_are_enough(towers):
    seen = noisy(np.full((towers, 168), 50.0), 5.0)
    assert rms(estimate(seen, 5.0, grid(towers)) - 50.0) < 5.0


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match=r"sigma must be finite and zero or more, got sigma=-1"):
        shrink(np.ones((2, 2)), -1.0)
    with pytest.raises(ValueError, match=r"noisy must be a finite matrix"):
        estimate(np.array([[1.0, np.nan]]), 1.0, grid(1))
