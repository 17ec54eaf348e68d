"""Drawing people from noisy statistics: nothing here sees the data.

Negative counts become 0 before they are probabilities; where nothing is left, all outcomes are as likely. A drawn
person is at one place in an hour, so their hours are drawn without replacement.
"""

import numpy as np
from numpy.typing import NDArray

from density_assets.privacy.events import Event
from density_assets.research.approaches.technique import Published
from density_assets.research.contributions import scale_to_total
from density_assets.research.study import Row
from density_assets.research.traces.matrix import Ints, Traces, binary
from density_assets.research.trajectories.private_statistics import LENGTHS, profile_bin

Floats = NDArray[np.float64]
Rng = np.random.Generator
MOST_PEOPLE = 10  # times the number of places and hours: more would only come from noise without bounds


def probabilities(noisy: Floats) -> Floats:
    """Rows of probabilities from rows of noisy counts."""
    counts = np.maximum(noisy, 0.0)
    total = counts.sum(axis=-1, keepdims=True)
    return np.where(total > 0, counts / np.where(total > 0, total, 1.0), 1.0 / counts.shape[-1])


def drawn(table: Floats, row: Ints, random: Rng) -> Ints:
    """An outcome for each row asked for, by the probabilities in that row of the table."""
    cumulative = np.cumsum(table, axis=1)
    # Rows laid end to end, so that one search finds all outcomes; a draw stays below the end of its own row.
    ends = cumulative / cumulative[:, -1:] + np.arange(len(table))[:, None]
    at = np.searchsorted(ends.reshape(-1), row + random.random(len(row)), side="right")
    outcome: Ints = np.minimum(at - row * table.shape[1], table.shape[1] - 1)
    return outcome


def number_of_people(noisy: Floats, times: int, like: Traces) -> int:
    """So many times the noisy number of people: a whole number, at least one."""
    return int(np.clip(np.rint(times * noisy[0]), 1, MOST_PEOPLE * like.rois * like.hours))


def drawn_lengths(noisy: Floats, count: int, random: Rng) -> Ints:
    """How many visits each of so many people has."""
    chosen = drawn(probabilities(noisy)[None, :], np.zeros(count, dtype=np.int64), random)
    return random.integers(LENGTHS[chosen], LENGTHS[chosen + 1])


def hour_weights(noisy: Floats, hours: int) -> Floats:
    """How likely each hour of the week is, from a noisy profile of weekdays and weekends, (48,).

    What was counted on five weekdays is shared out between them. No hour is impossible: a person may need them all.
    """
    folded = profile_bin(np.arange(hours))
    days = np.bincount(folded, minlength=len(noisy))[folded]
    return np.maximum(noisy, 0.0)[folded] / days + 1e-9


def drawn_hours(weights: Floats, wanted: Ints, random: Rng) -> tuple[Ints, Ints]:
    """Person and hour of so many different hours for each person, ordered by both.

    Largest of log weight plus Gumbel noise: draws without replacement, in proportion to the weights.
    """
    scores = np.log(weights) + random.gumbel(size=(len(wanted), len(weights)))
    rank = np.argsort(np.argsort(-scores, axis=1), axis=1)
    person, hour = np.nonzero(rank < wanted[:, None])
    return person, hour


def synthetic(like: Traces, person: Ints, place: Ints, hour: Ints) -> Traces:
    """Traces of drawn people, at the places and over the hours of others; who has no visit is not there."""
    named, row = np.unique(person, return_inverse=True)
    matrix = binary(row, place * like.hours + hour, (len(named), like.rois * like.hours))
    return Traces(matrix, np.arange(len(named)), like.hours, like.positions, like.grid, like.placed)


def publication(traces: Traces, total: float, events: tuple[Event, ...], facts: Row) -> Published:
    """Drawn people, and their density scaled to the noisy number of visits."""
    density = scale_to_total(traces.aggregate().astype(np.float64), total)
    return Published(density, traces, events, {"people": len(traces.users), **facts})
