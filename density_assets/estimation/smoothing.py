"""Nights as exponentials: few people, so the noise hides them, but they fall and rise in a known way.

Acs & Castelluccia (2014, §5.4.2) fit a·exp(b·x) by non-linear least squares to the hours after midnight and to
those before the morning, and publish the curves instead of the counts. The fit keeps the level of the night, not
its exact sum.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

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
