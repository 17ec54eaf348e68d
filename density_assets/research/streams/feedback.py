"""What FAST and RescueDP share: a filter for each place, and a clock that samples often while things change.

Kalman filter for a constant level (Fan & Xiong 2012): x stays as it is, its variance P grows by Q each hour; a noisy
observation z of variance R moves it by K·(z − x), K = P/(P + R), and P becomes (1 − K)·P. R is the variance of noise we
add ourselves, Q a constant chosen beforehand: both public. A public re-implementation reads Q off the raw stream, and
so releases a function of everybody's data that nobody paid for.

PID controller: of the errors E at the samples so far, .9 of the last, .1 of the mean over the last few, and 0 of its
slope. Errors are computed from released values only.

Clocks. As published each place has its own clock and its own budget, and the sum over a place's hours is bounded. A
user who moves is then charged by another place each hour, at hours of its own, and the bound does not hold for them:
it protects people who stay. With a common clock all places are sampled in the same hours, as told by their mean error,
and the sum over hours bounds what any path costs. With clocks of their own, an hour must be charged at its dearest
place, and hours in which no place is due become rare. The common clock is the default.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from density_assets.research.streams.terms import Floats

Flags = NDArray[np.bool_]
Clock = Literal["common", "per place"]
PROPORTIONAL, INTEGRAL = 0.9, 0.1  # the third gain, of the slope, is 0 in both papers' experiments


@dataclass(frozen=True)
class Levels:
    """Levels of all places as the filter sees them, and their variances."""

    values: Floats
    variance: Floats


def unknown(places: int, variance: float) -> Levels:
    """Before anything was seen: empty, give or take."""
    return Levels(np.zeros(places), np.full(places, variance))


def predicted(levels: Levels, drift: float) -> Levels:
    """The levels after an hour."""
    return Levels(levels.values, levels.variance + drift)


def corrected(levels: Levels, observed: Floats, noise_variance: Floats) -> Levels:
    """The levels after noisy observations; a place with infinite noise was not observed."""
    gain = levels.variance / (levels.variance + noise_variance)
    return Levels(levels.values + gain * (observed - levels.values), levels.variance * (1 - gain))


def nothing_yet(remembered: int, places: int) -> Floats:
    """The last few values of each place, the newest last: none so far."""
    return np.full((remembered, places), np.nan)


def appended(past: Floats, due: Flags, newest: Floats) -> Floats:
    """The last few values after one more at the places that were due."""
    return np.where(due, np.vstack([past[1:], newest]), past)


def pid(errors: Floats) -> Floats:
    """The controlled error of each place, from its last few; 0 for a place without any."""
    seen = ~np.isnan(errors)
    mean = np.where(seen, errors, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    controlled: Floats = PROPORTIONAL * np.nan_to_num(errors[-1]) + INTEGRAL * mean
    return controlled


def on_clock(error: Floats, clock: Clock) -> Floats:
    """The error that each place's clock goes by."""
    return np.full(error.shape, error.mean()) if clock == "common" else error
