"""What all generators of people share: statistics that each person moves by a bounded amount, and drawing from them.

Neighbours differ by one person with everything they did. A statistic states how far (L2) that can move it; the budget
is shared out between the statistics in zCDP.

Sequences are where people go one after the other: at most l_max visits of each, in different hours, in their order.
Chen, Acs & Castelluccia keep the first l_max items of a sequence; of a week that would be its Monday, so we keep
l_max hours at random and their order.

Drawing people from noisy statistics sees no data. Negative counts become 0 before they are probabilities; where nothing
is left, all outcomes are as likely. A drawn person is at one place in an hour, so their hours are drawn without
replacement.
"""

import math

import numpy as np
from pydantic import Field

from density_assets.privacy.events import Event
from density_assets.research.approaches.technique import PrivateParameters, Published, Statistic
from density_assets.research.contributions import clamped_total, scale_to_total, truncate, visits_of_users
from density_assets.research.study import Row
from density_assets.research.traces.matrix import Traces, binary
from density_assets.series import Floats, Ints

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


def keep_visits(traces: Traces, most: int, seed: int) -> tuple[Ints, Ints, Ints]:
    """Person, place and hour of what is kept, ordered by person and hour; one visit in an hour."""
    user, place, hour = truncate(traces, most, *(np.random.default_rng([seed, purpose]) for purpose in (1, 2))).points()
    order = np.lexsort((hour, user))
    return user[order], place[order], hour[order]


def capped_counts(person: Ints, code: Ints, repeats: int) -> tuple[Ints, Floats]:
    """Codes and how often they occur, counting each person at most `repeats` times for a code."""
    order = np.lexsort((code, person))
    pairs = np.stack([person[order], code[order]])
    first = np.flatnonzero(np.diff(pairs, axis=1, prepend=-2).any(axis=0))
    counts = np.minimum(np.diff(np.append(first, pairs.shape[1])), repeats)
    codes, inverse = np.unique(pairs[1, first], return_inverse=True)
    return codes, np.bincount(inverse, weights=counts, minlength=len(codes)).astype(np.float64)


def capped_sensitivity(occurrences: int, repeats: int) -> float:
    """How far (L2) one person can move counts to which they add at most so much, and `repeats` to any one.

    Σ d² ≤ max d · Σ d; without a cap it is all in one count, and the bound is the number of occurrences.
    """
    return math.sqrt(occurrences * min(repeats, occurrences))


Rng = np.random.Generator
MOST_PEOPLE = 10  # times the number of places and hours: more would only come from noise without bounds


def probabilities(noisy: Floats) -> Floats:
    """Rows of probabilities from rows of noisy counts."""
    counts = np.maximum(noisy, 0.0)
    total = counts.sum(axis=-1, keepdims=True)
    return np.where(total > 0, counts / np.where(total > 0, total, 1.0), 1.0 / counts.shape[-1])


def draw_outcomes(table: Floats, row: Ints, random: Rng) -> Ints:
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


def draw_lengths(noisy: Floats, count: int, random: Rng) -> Ints:
    """How many visits each of so many people has."""
    chosen = draw_outcomes(probabilities(noisy)[None, :], np.zeros(count, dtype=np.int64), random)
    return random.integers(LENGTHS[chosen], LENGTHS[chosen + 1])


def hour_weights(noisy: Floats, hours: int) -> Floats:
    """How likely each hour of the week is, from a noisy profile of weekdays and weekends, (48,).

    What was counted on five weekdays is shared out between them. No hour is impossible: a person may need them all.
    """
    folded = profile_bin(np.arange(hours))
    days = np.bincount(folded, minlength=len(noisy))[folded]
    return np.maximum(noisy, 0.0)[folded] / days + 1e-9


def draw_hours(weights: Floats, wanted: Ints, random: Rng) -> tuple[Ints, Ints]:
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
