"""What a generator of people is fitted to: noisy statistics, each bounded for one person, at one promise together.

Neighbours differ by one person with everything they did. A statistic states how far (L2) that can move it; the budget
is shared out between the statistics in zCDP.
"""

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from density_assets.research.approaches.technique import PrivateParameters, Statistic
from density_assets.research.contributions import clamped_total, visits_of_users
from density_assets.research.traces.matrix import Ints, Traces

Floats = NDArray[np.float64]

# From 1 to a visit in each hour: wider where fewer people are, so that noise in the tail invents fewer heavy users.
LENGTHS: Ints = np.array([1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 169])
DAY, WEEKDAYS = 24, 5
PROFILE_BINS = 2 * DAY


class SynthesisParameters(PrivateParameters):
    """What all generators have in common.

    visits_clamp: visits of one person that count for the number of visits, to which the density is scaled.
    times: how many people are drawn for each person; more draws follow the noisy model more closely, and cost nothing.
    """

    visits_clamp: int = Field(60, ge=1)
    times: int = Field(4, ge=1, le=100)


def people(traces: Traces) -> Statistic:
    """How many people there are with a visit: a fact about the data like any other, and paid for."""
    return Statistic(np.array([np.count_nonzero(np.diff(traces.matrix.indptr))], dtype=np.float64), 1.0)


def visits(traces: Traces, clamp: int) -> Statistic:
    """How many visits there are, counting at most `clamp` of each person."""
    total = clamped_total(visits_of_users(traces), clamp)
    return Statistic(np.array([total], dtype=np.float64), float(clamp))


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
