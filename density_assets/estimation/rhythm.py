"""The city's rhythm, told from noise: 168 numbers that all towers share, smooth over the hours of the day and the days.

    m = level · (1 + r),    r ~ N(0, κ · (alike days ∘ near hours + own))

The level is left open, so a city whose rhythm drowns in noise is flat. κ is the one of a grid that makes the measured
rhythm most likely; where noise is small nothing is smoothed. Post-processing of noisy numbers.
"""

import numpy as np
from numpy.typing import NDArray

DAY = 24

Floats = NDArray[np.float64]

# Chosen on cities of seeds 5 and 7 with 20,000 to 500,000 people (`docs/weeks.md`).
FADING_HOURS = 6.0  # a rhythm is alike over so many hours of the day
ANY_DAY, SAME_KIND, SAME_DAY = 0.7, 0.25, 0.05  # parts of it on all days, on (non-)working days, on one day
OWN_HOUR = 0.001  # what an hour has for itself: in a city that rises above the noise, doors open on the hour
KAPPA = 10.0 ** np.arange(-3.0, 2.1, 0.5)
OPEN = 100.0  # variance of the level, relative to its square


def rhythm_prior(noisy: Floats, variance: float, unit: Floats | float = 1.0) -> Floats:
    """The covariance of a rhythm around zero that makes a noisy one most likely.

    noisy: the measured rhythm, divided by `unit` hour by hour. variance: of its noise.
    """
    level = float(np.mean(noisy * unit))
    scaled = level**2 / (np.ones(len(noisy)) * unit)[:, None] / unit
    shape = _alike(len(noisy))
    priors = [scaled * (OPEN + kappa * shape) for kappa in KAPPA]
    return max(priors, key=lambda prior: _likelihood(noisy, prior, variance))


def posterior_rhythm(noisy: Floats, noise: Floats, prior: Floats) -> tuple[Floats, Floats]:
    """What is expected of a rhythm once a noisy one was seen, and the covariance of its error.

    noise: covariance of the noise.
    """
    gain = np.linalg.solve(prior + noise, prior).T
    return gain @ noisy, prior - gain @ prior


def smooth_rhythm(noisy: Floats, variance: float) -> Floats:
    """A noisy rhythm, smoothed."""
    return posterior_rhythm(noisy, variance * np.eye(len(noisy)), rhythm_prior(noisy, variance))[0]


def _likelihood(noisy: Floats, prior: Floats, variance: float) -> float:
    """Logarithm of the probability of a noisy rhythm, but for a constant."""
    values, along = np.linalg.eigh(prior)
    spread = np.maximum(values, 0.0) + variance
    return float(-0.5 * (np.log(spread) + (along.T @ noisy) ** 2 / spread).sum())


def _alike(hours: int) -> Floats:
    """Correlation of hours: Matérn's (3/2) over the circle of the day, the more so on alike days."""
    of_day, day = np.arange(hours) % DAY, np.arange(hours) // DAY
    working = day % 7 < 5
    turn = np.pi / DAY
    apart = np.abs(np.sin(turn * (of_day[:, None] - of_day))) / turn / FADING_HOURS
    alike = ANY_DAY + SAME_KIND * (working[:, None] == working) + SAME_DAY * (day[:, None] == day)
    return np.asarray((1 + apart) * np.exp(-apart) * alike + OWN_HOUR * np.eye(hours))
