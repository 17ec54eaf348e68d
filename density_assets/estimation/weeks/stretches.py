"""Stretches of hours in which one tower stands apart: an outage, a level that changed for some days, an event.

For every tower and window two explanations are tried beside "as expected": all of it was more or less by one factor
(an outage is a factor of zero), or the same number of visits came on top in every hour (an event; short windows only).
Each has a prior probability and a normal prior of its size, so each has posterior odds. The best ones are taken one
after another, shrunk by how sure they are. They teach neither neighbours nor the usual week.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from density_assets.series import Floats

WIDTHS = (1, 2, 3, 4, 6, 9, 12, 18, 24, 36, 48, 72, 96, 120, 144, 168)
LONGEST_EVENT = 12
PROBABILITY = 0.06  # that a tower stands apart at some time of a week, shared equally by widths
FACTOR_SPREAD = 0.5  # prior standard deviation of a factor
EVENT_SPREAD = 3.0  # that of an event, in standard deviations of noise
LEAST_ODDS = -1.5  # log-odds below which a stretch is left alone
ROUNDS = 4
SHARED_HOURS = 12.0  # errors of what is expected are alike over so many hours
TAUGHT = 0.02  # how far a stretch counts for the usual week


@dataclass(frozen=True)
class Stretch:
    """One of them.

    change: visits on top of what was expected, hour by hour. error: of all hours together, as one pattern.
    own_error: of each hour for itself.
    """

    tower: int
    start: int
    change: Floats
    error: Floats
    own_error: float = 0.0

    @property
    def hours(self) -> slice:
        """When."""
        return slice(self.start, self.start + len(self.change))


class _Candidate(NamedTuple):
    odds: float
    tower: int
    start: int
    width: int
    event: bool
    size: float
    variance: float
    spread: float


def find_stretches(residual: Floats, expected: Floats, sigma: float, variance: Floats) -> list[Stretch]:
    """The stretches of a week.

    residual: measurement minus what was expected. variance: of the error of what was expected.
    """
    left, found = residual.copy(), []
    for _ in range(ROUNDS):
        chosen = list(_apart(_candidates(left, expected, sigma, variance), residual.shape))
        if not chosen:
            break
        for candidate in chosen:
            stretch = _stretch(candidate, left, expected, sigma)
            left[stretch.tower, stretch.hours] -= stretch.change
            found.append(stretch)
    return found


def changes(found: Sequence[Stretch], shape: tuple[int, ...]) -> tuple[Floats, Floats]:
    """What all stretches add to each tower and hour, and how far each counts for the usual week."""
    change, use = np.zeros(shape), np.ones(shape)
    for stretch in found:
        change[stretch.tower, stretch.hours] += stretch.change
        use[stretch.tower, stretch.hours] = TAUGHT
    return change, use


def _candidates(residual: Floats, expected: Floats, sigma: float, variance: Floats) -> Iterator[_Candidate]:
    """For every tower, kind and width the window with the best odds, if they are good enough."""
    hours = residual.shape[1]
    for event, pattern in ((False, expected), (True, np.ones_like(expected))):
        spread = EVENT_SPREAD * sigma if event else FACTOR_SPREAD
        for width in (width for width in WIDTHS if width <= (LONGEST_EVENT if event else hours)):
            power = np.maximum(_windows(pattern**2, width), 1e-9)
            size = _windows(residual * pattern, width) / power
            shared = _windows(pattern**2 * variance, width) * min(width / 2, SHARED_HOURS)
            noise = (sigma**2 * power + shared) / power**2
            share = spread**2 / (spread**2 + noise)
            prior = np.log(PROBABILITY / len(WIDTHS) * width / hours)
            odds = 0.5 * (size**2 / noise * share - np.log1p(spread**2 / noise)) + prior
            start = odds.argmax(axis=1)
            for tower in np.flatnonzero(odds.max(axis=1) > LEAST_ODDS):
                at = int(tower), int(start[tower])
                yield _Candidate(odds[at], at[0], at[1], width, event, size[at], noise[at], spread)


def _apart(candidates: Iterator[_Candidate], shape: tuple[int, ...]) -> Iterator[_Candidate]:
    """The best candidates of which no two share an hour of a tower."""
    taken = np.zeros(shape, bool)
    for candidate in sorted(candidates, reverse=True):
        where = taken[candidate.tower, candidate.start : candidate.start + candidate.width]
        if not where.any():
            where[:] = True
            yield candidate


def _stretch(candidate: _Candidate, residual: Floats, expected: Floats, sigma: float) -> Stretch:
    """A candidate, shrunk by how sure it is and by its noise; an event keeps what of its shape is not noise."""
    hours = slice(candidate.start, candidate.start + candidate.width)
    pattern = np.ones(candidate.width) if candidate.event else expected[candidate.tower, hours]
    sure, share = 1 / (1 + np.exp(-candidate.odds)), candidate.spread**2 / (candidate.spread**2 + candidate.variance)
    size = share * candidate.size if candidate.event else max(share * candidate.size, -1.0)
    variance = sure * share * candidate.variance + sure * (1 - sure) * size**2
    change, error, own = sure * size * pattern, np.sqrt(variance) * pattern, 0.0
    if candidate.event and candidate.width > 1:
        rest = residual[candidate.tower, hours] - change
        shape = rest - rest.mean()
        signal = max(0.0, 1 - sigma**2 * (candidate.width - 1) / max(float(shape @ shape), 1e-9))
        change, own = change + signal * shape, sigma * np.sqrt(signal)
    return Stretch(candidate.tower, candidate.start, change, error, own)


def _windows(values: Floats, width: int) -> Floats:
    """Sums over all windows of so many hours."""
    sums = np.concatenate([np.zeros((len(values), 1)), np.cumsum(values, axis=1)], axis=1)
    return np.asarray(sums[:, width:] - sums[:, :-width])
