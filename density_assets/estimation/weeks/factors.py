"""City-wide factors of hours: by how much every tower is fuller or emptier than usual, in each hour of this week.

A regression of the week on its profile gives a raw factor of each hour; a Gaussian process over hours and days draws
it to one. Its variances are chosen by likelihood, and where nothing has changed they are zero. The profile's own error
of rhythm is part of the process: what the week says of its rhythm corrects it.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky

from density_assets.estimation.weeks.profile import Profile

Floats = NDArray[np.float64]

NEAR_HOURS = 3.0  # factors of hours fade over so many hours
SPREADS = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3)  # standard deviations that are tried, of hours and of days
CLEARER = 1.0  # of log-likelihood: by so much more variance must explain better
CLIP = 4.0  # standard deviations of noise: towers beyond do not speak for the city
STEPS = 6
MOST_SHARE = 4.0  # times its size: what one tower may say of one hour
LEAST_SIGNAL = 1e-6  # of the mean hour's square
UNTOLD = 1e6  # variance of a factor of which nothing can be said
LEAST_POWER = 0.5  # of the profile's square: what is left of it once its own noise is taken off


@dataclass(frozen=True)
class Factors:
    """The factor of each hour, and the covariance of its error."""

    value: Floats
    covariance: Floats


def hour_factors(noisy: Floats, sigma: float, profile: Profile) -> Factors:
    """The factors of a week, from its measurement."""
    raw, variance = _regression(noisy, sigma, profile)
    prior = _prior(raw - 1.0, variance, profile.rhythm_error)
    root = (cholesky(prior + np.diag(variance), lower=True), True)
    return Factors(1.0 + prior @ cho_solve(root, raw - 1.0), prior - prior @ cho_solve(root, prior))


def _regression(noisy: Floats, sigma: float, profile: Profile) -> tuple[Floats, Floats]:
    """Raw factors and their variances.

    The profile is itself noisy, which would draw a plain regression to zero: its variance is taken off its square.
    """
    mean = profile.mean
    usual = np.outer(mean.mean(axis=1) / mean.mean(), mean.mean(axis=0))
    weight = np.minimum(mean, MOST_SHARE * usual)
    power = (weight * mean).sum(axis=0)
    told = power > LEAST_SIGNAL * power.mean()  # in other hours the profile is empty, and nothing can be said of them
    power = np.where(told, power, 1.0)
    raw = np.ones(noisy.shape[1])
    for _ in range(STEPS):
        raw = raw + (weight * np.clip(noisy - mean * raw, -CLIP * sigma, CLIP * sigma)).sum(axis=0) / power
    signal = np.maximum(power - np.minimum(profile.variance, mean**2).sum(axis=0), LEAST_POWER * power)
    variance = sigma**2 * (weight**2).sum(axis=0) / signal**2
    return np.where(told, raw * power / signal, 1.0), np.where(told, variance, UNTOLD)


def _prior(deviation: Floats, variance: Floats, known: Floats) -> Floats:
    """The covariance of factors that makes what was seen most likely; a larger one must be clearly better."""
    hour = np.arange(len(deviation))
    near, same_day = np.exp(-np.abs(hour[:, None] - hour) / NEAR_HOURS), hour[:, None] // 24 == hour // 24
    best, chosen = -np.inf, known
    for of_hour, of_day in product(SPREADS, SPREADS):
        prior = known + of_hour**2 * near + of_day**2 * same_day
        root = cholesky(prior + np.diag(variance), lower=True)
        likelihood = -np.log(np.diag(root)).sum() - 0.5 * deviation @ cho_solve((root, True), deviation)
        if likelihood > best + CLEARER:
            best, chosen = likelihood, prior
    return chosen
