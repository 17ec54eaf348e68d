"""Rhythms of a week: as cosine waves, with smooth nights, and told from noise.

Series as cosine waves: what is lost when only the slowest are kept (Acs & Castelluccia 2014, §5.3.2).

The transform is orthonormal, so series and coefficients have the same L2 norm: sensitivities and errors computed on
one hold for the other.

Nights as exponentials: few people, so the noise hides them, but they fall and rise in a known way.

Acs & Castelluccia (2014, §5.4.2) fit a·exp(b·x) by non-linear least squares to the hours after midnight and to
those before the morning, and publish the curves instead of the counts. The fit keeps the level of the night, not
its exact sum.

The city's rhythm, told from noise: 168 numbers that all towers share, smooth over the hours of the day and the days.

    m = level · (1 + r),    r ~ N(0, κ · (alike days ∘ near hours + own))

The level is left open, so a city whose rhythm drowns in noise is flat. κ is the one of a grid that makes the measured
rhythm most likely; where noise is small nothing is smoothed. Post-processing of noisy numbers.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct, idct

from density_assets.errors import some
from density_assets.series import Floats


def coefficients(series: Floats) -> Floats:
    """The orthonormal DCT-II of each row, slowest wave first."""
    return np.asarray(dct(series, type=2, norm="ortho", axis=-1), dtype=np.float64)


def series_from(coefficients: Floats) -> Floats:
    """The series that has these coefficients: the inverse of `coefficients`."""
    return np.asarray(idct(coefficients, type=2, norm="ortho", axis=-1), dtype=np.float64)


def tail_norms(coefficients: Floats) -> Floats:
    """The L2 norm of what is left out when the first k are kept; column k-1 is that of k = 1..hours.

    sqrt(Σ_{i>k} F_i²)    (Acs & Castelluccia 2014, Alg. 4, line 2)
    """
    # Summed from the end: a tail taken as the total minus the head would drown in the rounding of the largest F.
    from_here = np.cumsum(np.square(coefficients[..., ::-1]), axis=-1)[..., ::-1]
    tails = np.zeros_like(from_here)
    tails[..., :-1] = np.sqrt(from_here[..., 1:])
    return tails


def keep_first(coefficients: Floats, k: NDArray[np.int64]) -> Floats:
    """The first k of each row, zeros instead of the rest.

    k: one number per row.
    """
    rows, hours = coefficients.shape
    outside = k[(k < 1) | (k > hours)]
    if k.shape != (rows,) or len(outside) > 0:
        raise ValueError(
            f"k must be {rows} numbers from 1 to {hours}, got {len(k)}, of which {len(outside)} are outside "
            f"({some(outside) or 'none'}); choose one k per row"
        )
    return np.where(np.arange(hours) < k[:, None], coefficients, 0.0)


DAYS, HOURS_OF_DAY = 7, 24
FALLING = slice(0, 4)
RISING = slice(4, 7)

# The search for the ratio: a grid to find the highest peak, then halvings to the last bit of a double.
GRID = 129
HALVINGS = 50


def smooth_nights(series: Floats) -> Floats:
    """The series with the hours 0-3 of each day replaced by a falling exponential, and 4-6 by a rising one.

    series: shape (places, 168). Hours that go the other way become their mean, zeros stay zeros.
    """
    days = series.reshape(len(series), DAYS, HOURS_OF_DAY).astype(np.float64)
    days[..., FALLING] = _falling_fit(days[..., FALLING])
    # Read backwards, a rising exponential is a falling one.
    days[..., RISING] = _falling_fit(days[..., RISING][..., ::-1])[..., ::-1]
    return days.reshape(series.shape)


def _falling_fit(counts: Floats) -> Floats:
    """The least-squares curve a·r^x with a ≥ 0 and 0 ≤ r ≤ 1 through x = 0, 1, .. along the last axis.

    r = exp(b). Searching r keeps the interval finite and holds the limit b → -∞, a spike at x = 0, where a search
    for b would run away; and no exponential can overflow.
    """
    nights = counts.reshape(-1, counts.shape[-1])
    curve = _curve(_best_ratio(nights), nights.shape[1])
    height = np.maximum(_dot(nights, curve), 0.0) / _dot(curve, curve)
    return (height[:, None] * curve).reshape(counts.shape)


def _best_ratio(nights: Floats) -> Floats:
    """The ratio of the best curve of each row.

    Variable projection (Golub & Pereyra 1973): for a given ratio the best height is known, and the squares explained
    are those of `_explained`, a function of the ratio alone. It may have two peaks, hence the grid.
    """
    # Flattest first: it wins a tie.
    grid = np.linspace(1.0, 0.0, GRID)
    curves = _curve(grid, nights.shape[1])
    lengths = nights @ (curves / np.linalg.norm(curves, axis=1, keepdims=True)).T
    best: Floats = grid[lengths.argmax(axis=1)]
    low, high = np.maximum(best - 1 / (GRID - 1), 0.0), np.minimum(best + 1 / (GRID - 1), 1.0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        upwards = _grows(nights, middle)
        low, high = np.where(upwards, middle, low), np.where(upwards, high, middle)
    # A bracket with a second peak in it could end on the lower one: never worse than the grid.
    return np.where(_explained(nights, high) > _explained(nights, best), high, best)


def _explained(nights: Floats, ratio: Floats) -> Floats:
    """The length of each row along its curve: the larger, the smaller the residual."""
    curve = _curve(ratio, nights.shape[1])
    return _dot(nights, curve) / np.sqrt(_dot(curve, curve))


def _grows(nights: Floats, ratio: Floats) -> NDArray[np.bool_]:
    """Whether a slightly larger ratio would explain more: the sign of the derivative of `_explained`."""
    hours = nights.shape[1]
    curve, slope = _curve(ratio, hours), np.zeros_like(nights)
    slope[:, 1:] = curve[:, :-1] * np.arange(1, hours)
    gain = _dot(nights, slope) * _dot(curve, curve)
    return gain > _dot(nights, curve) * _dot(curve, slope)


def _curve(ratio: Floats, hours: int) -> Floats:
    """r^0, r^1, .. for each ratio, with 0^0 = 1."""
    return np.vander(ratio, hours, increasing=True)


def _dot(one: Floats, other: Floats) -> Floats:
    """The product of each row of one with the same row of the other."""
    return np.asarray(np.vecdot(one, other), dtype=np.float64)


DAY = 24


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
