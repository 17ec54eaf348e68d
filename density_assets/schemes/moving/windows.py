"""Streams of histograms, and choosing the part of a day in which people move (Chen et al., §6.2 and §6.3).

A stream is people per location, stamp after stamp (rows are stamps). A user adds at most one to one histogram (one
location per stamp, or one visit spread over places with mass one), so neighbouring streams D, D' have
‖D_t − D'_t‖₁ ≤ 1 at every stamp t. Everything in this package rests on that bound.

Every pair of stamps (i, j), i ≤ j, of a day is a candidate for its window. With n = j − i + 1 and the distances
d_i … d_{j−1} of consecutive histograms between them,

    aveDis = Σ d / n        simVar = Σ |aveDis − d| / n

and the window is drawn by the exponential mechanism from one of two utilities:

published   log_α(n) · aveDis / max(simVar, 1), claimed sensitivity 2·log_α S. It divides by simVar, which is data: one
            user can take it from 1 to 2 and halve the utility, however large aveDis is. The claim does not hold.
sound       log_α(n) · (aveDis − λ·simVar), sensitivity at most 2(1+λ)·log_α S. One user changes each d by at most 2,
            hence aveDis by at most 2(n−1)/n. simVar is convex and piecewise linear in d: with p of its m = n−1
            terms above the mean and q below, the absolute slopes sum to (m − (p−q)²/n)/n ≤ m/n, so it changes by
            at most 2(n−1)/n too.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from density_assets.privacy.events import Selection
from density_assets.privacy.noise import Noise
from density_assets.series import Flags, Floats

Stamps = NDArray[np.integer]

HISTOGRAM = 1.0  # L1 change of one histogram by one user; also of its distance from anything fixed or released
PRINTED_DISTANCE = 2.0  # Δ_D as published, used for comparisons and histograms alike
FEWEST = 2  # releases of a stream: its first histogram is always drawn, so a stream with one would never compare
ADJACENT = 2.0  # change of the distance between two histograms that both hold the user
ALPHA = 12.0  # base of the logarithm that favours long windows, as published


def distances(stream: Floats) -> Floats:
    """L1 distances of consecutive histograms, one less than there are stamps."""
    return np.asarray(np.abs(np.diff(stream, axis=0)).sum(axis=1))


def histograms(cells: NDArray[np.integer], locations: int) -> Floats:
    """People per stamp and location, from one cell per (person, stamp); negative cells are people not seen."""
    counts = np.zeros((cells.shape[1], locations))
    for stamp, seen in enumerate(cells.T):
        counts[stamp] = np.bincount(seen[seen >= 0], minlength=locations)
    return counts


@dataclass(frozen=True)
class Window:
    """The stamps from `first` to `last`, both included."""

    first: int
    last: int

    def __len__(self) -> int:
        return self.last - self.first + 1

    def mask(self, stamps: int) -> Flags:
        """Which stamps lie in it."""
        here = np.arange(stamps)
        return np.asarray((here >= self.first) & (here <= self.last))


def candidates(stamps: int) -> list[Window]:
    """All windows of a day."""
    return [Window(first, last) for first in range(stamps) for last in range(first, stamps)]


def published_utility(stream: Floats) -> Floats:
    """The printed utility of every candidate."""
    length, mean, spread = _moments(stream)
    return np.asarray(np.log(length) / math.log(ALPHA) * mean / np.maximum(spread, 1.0))


def published_sensitivity(stamps: int) -> float:
    """As claimed; it does not hold."""
    return ADJACENT * math.log(stamps, ALPHA)


def sound_utility(stream: Floats, weight: float) -> Floats:
    """The utility of bounded sensitivity; `weight` is λ."""
    length, mean, spread = _moments(stream)
    return np.asarray(np.log(length) / math.log(ALPHA) * (mean - weight * spread))


def sound_sensitivity(stamps: int, weight: float) -> float:
    """How much one user changes the sound utility of any window, at most."""
    return ADJACENT * (1 + weight) * math.log(stamps, ALPHA)


def choose(utilities: Floats, event: Selection, stamps: int, noise: Noise) -> Window:
    """The window drawn by the exponential mechanism."""
    return candidates(stamps)[int(noise.select(-utilities[None, :], event)[0])]


def predict(past: list[Window], stamps: int) -> Window:
    """The window of the day after some days, by least squares over the days; it sees chosen windows only."""
    if len(past) == 1:
        return past[0]
    days = np.arange(len(past))
    lines = np.polyfit(days, [(window.first, window.last) for window in past], 1)
    first, last = sorted(np.clip(np.rint(lines[0] * len(past) + lines[1]), 0, stamps - 1).astype(int).tolist())
    return Window(first, last)


def _moments(stream: Floats) -> tuple[Floats, Floats, Floats]:
    """n, aveDis and simVar of every candidate."""
    gaps = distances(stream)
    rows = []
    for window in candidates(len(stream)):
        inside = gaps[window.first : window.last]
        mean = inside.sum() / len(window)
        rows.append((float(len(window)), mean, np.abs(mean - inside).sum() / len(window)))
    length, mean, spread = np.array(rows).T
    return length, mean, spread
