"""The city's rhythm: smooth where it drowns in noise, untouched where it does not."""

import numpy as np
import pytest

from density_assets.estimation.rhythm import posterior_rhythm, rhythm_prior, smooth_rhythm

HOURS = 168
RHYTHM = 100.0 * (1.2 - np.cos(2 * np.pi * (np.arange(HOURS) - 3) / 24))


def noisy(sigma: float) -> np.ndarray:
    return RHYTHM + np.random.default_rng(3).normal(0.0, sigma, HOURS)


def error(rhythm: np.ndarray) -> float:
    return float(np.sqrt(((rhythm - RHYTHM) ** 2).mean()))


@pytest.mark.parametrize("sigma", [30.0, 100.0, 200.0])
def test_a_noisy_rhythm_is_smoothed(sigma):
    assert error(smooth_rhythm(noisy(sigma), sigma**2)) < 0.4 * sigma


def test_nothing_is_smoothed_where_there_is_next_to_no_noise():
    rough = RHYTHM * np.random.default_rng(4).uniform(0.5, 1.5, HOURS)
    np.testing.assert_allclose(smooth_rhythm(rough, 1e-4), rough, rtol=1e-3)


def test_noise_alone_is_flat():
    level = 100.0
    seen = level + np.random.default_rng(5).normal(0.0, 1000.0, HOURS)
    smooth = smooth_rhythm(seen, 1000.0**2)
    assert smooth.std() < 0.1 * seen.std()


def test_the_error_that_is_stated_is_the_error_that_is_made():
    """On rhythms that are as the prior says."""
    sigma, rng = 50.0, np.random.default_rng(6)
    noise, prior = sigma**2 * np.eye(HOURS), rhythm_prior(noisy(sigma), sigma**2)
    rhythms = rng.multivariate_normal(np.zeros(HOURS), prior, 50)
    made = [posterior_rhythm(one + rng.normal(0.0, sigma, HOURS), noise, prior)[0] - one for one in rhythms]
    stated = np.diag(posterior_rhythm(RHYTHM, noise, prior)[1]).mean()
    assert stated == pytest.approx(np.mean(np.square(made)), rel=0.15)


def test_hours_in_other_units_have_the_same_rhythm():
    unit = np.linspace(0.5, 2.0, HOURS)
    seen, noise = noisy(30.0), 30.0**2
    prior = rhythm_prior(seen / unit, noise, unit)
    in_units, _ = posterior_rhythm(seen / unit, np.diag(noise / unit**2), prior)
    assert error(in_units * unit) < 0.5 * 30.0
