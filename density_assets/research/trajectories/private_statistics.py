"""What a generator of people is fitted to: noisy statistics, each bounded for one person, at one promise together.

Neighbours differ by one person with everything they did. A statistic states how far (L2) that can move it; the budget
is shared out between the statistics in zCDP.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from density_assets.privacy.calibration import calibrate, gaussian_sigma, selection_epsilon
from density_assets.privacy.events import Event, Gaussian, Selection
from density_assets.privacy.noise import Noise
from density_assets.research.approaches.technique import Parameters
from density_assets.research.traces.matrix import Ints, Traces

Floats = NDArray[np.float64]

# From 1 to a visit in each hour: wider where fewer people are, so that noise in the tail invents fewer heavy users.
LENGTHS: Ints = np.array([1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 169])
DAY, WEEKDAYS = 24, 5
PROFILE_BINS = 2 * DAY


class SynthesisParameters(Parameters):
    """What all generators have in common.

    visits_clamp: visits of one person that count for the number of visits, to which the density is scaled.
    times: how many people are drawn for each person; more draws follow the noisy model more closely, and cost nothing.
    """

    epsilon: float = Field(1.0, gt=0, allow_inf_nan=False)
    delta: float = Field(1e-6, gt=0, lt=1)
    visits_clamp: int = Field(60, ge=1)
    times: int = Field(4, ge=1, le=100)


@dataclass(frozen=True)
class Statistic:
    """Exact values, to be seen by noise only, and how far one person more or less can move them (L2)."""

    values: Floats
    sensitivity: float


def shared_events(
    sensitivities: Mapping[str, float],
    shares: Mapping[str, float],
    parameters: SynthesisParameters,
    selections: frozenset[str] = frozenset(),
) -> dict[str, Event]:
    """An event for each statistic, which together cost (epsilon, delta).

    shares: of the budget; any positive numbers. selections: what is chosen by exponential mechanisms.
    """
    whole = sum(shares[name] for name in sensitivities)

    def event(name: str, rho: float) -> Event:
        if name in selections:
            return Selection(name, selection_epsilon(rho), sensitivities[name])
        return Gaussian(name, gaussian_sigma(rho, sensitivities[name]), sensitivities[name])

    def events_at(rho: float) -> list[Event]:
        return [event(name, rho * shares[name] / whole) for name in sensitivities]

    return dict(zip(sensitivities, calibrate(events_at, parameters.epsilon, parameters.delta), strict=True))


def measured(statistics: Mapping[str, Statistic], events: Mapping[str, Event], noise: Noise) -> dict[str, Floats]:
    """All statistics with their noise; of a selection, the column that was chosen in each row."""
    return {name: _measured(statistic.values, events[name], noise) for name, statistic in statistics.items()}


def _measured(values: Floats, event: Event, noise: Noise) -> Floats:
    if isinstance(event, Selection):
        return noise.select(values, event).astype(np.float64)
    assert isinstance(event, Gaussian)
    return noise.gaussian(values, event)


# --- statistics that every generator needs --------------------------------------------------------------------------


def people(traces: Traces) -> Statistic:
    """How many people there are with a visit: a fact about the data like any other, and paid for."""
    return Statistic(np.array([np.count_nonzero(np.diff(traces.matrix.indptr))], dtype=np.float64), 1.0)


def visits(traces: Traces, clamp: int) -> Statistic:
    """How many visits there are, counting at most `clamp` of each person."""
    counted = np.minimum(np.diff(traces.matrix.indptr), clamp).sum()
    return Statistic(np.array([counted], dtype=np.float64), float(clamp))


def lengths(traces: Traces) -> Statistic:
    """How many people have so many visits in the week; each is in one bin of `LENGTHS`."""
    each = np.diff(traces.matrix.indptr)
    bins = np.minimum(np.searchsorted(LENGTHS, each[each > 0], side="right") - 1, len(LENGTHS) - 2)
    return Statistic(np.bincount(bins, minlength=len(LENGTHS) - 1).astype(np.float64), 1.0)


def profile(traces: Traces, kind: Ints | None = None, kinds: int = 1) -> Statistic:
    """When people are seen: hours of a weekday and of a day at the weekend, (48, kinds).

    A person's counts are divided by their norm, so that each person adds a vector of norm 1, however active.
    kind: of each visit.
    """
    user, _, hour = traces.points()
    column = profile_bin(hour) * kinds + (0 if kind is None else kind)
    size = PROFILE_BINS * kinds
    cells, counts = np.unique(user * size + column, return_counts=True)
    norm = np.sqrt(np.bincount(cells // size, weights=counts.astype(np.float64) ** 2, minlength=len(traces.users)))
    values = np.bincount(cells % size, weights=counts / norm[cells // size], minlength=size).astype(np.float64)
    return Statistic(values.reshape(PROFILE_BINS, kinds), 1.0)


def profile_bin(hour: Ints) -> Ints:
    """The hour of the day, and 24 more at the weekend."""
    return hour % DAY + DAY * (hour // DAY % 7 >= WEEKDAYS)
