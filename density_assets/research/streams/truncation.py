"""How much of a user's week is counted: at most c visits in an hour, in at most a hours of the week.

So a user adds at most l = a·c visits, each to a count of its own. What is kept is drawn at random, for each user
without looking at any other, so that one user more or less changes nobody else's visits.
"""

import numpy as np
from numpy.typing import NDArray

from density_assets.errors import BadInput
from density_assets.research.traces.matrix import Ints, Traces, trace_matrix

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]


def truncated(traces: Traces, visits_per_hour: int, hours_per_user: int | None, counted: Flags, seed: int) -> Traces:
    """The traces with what is kept of each user.

    hours_per_user: None keeps all hours, for a promise about windows of hours.
    counted: hours that are published at all, fixed beforehand; no visit of a user is wasted on others.
    """
    not_empty(traces)
    points = traces.points()
    user, place, hour = (column[counted[points[2]]] for column in points)
    # A generator for each purpose: what one user draws must not depend on how many visits another has.
    of_visits, of_hours = (np.random.default_rng([seed, purpose]) for purpose in (1, 2))
    kept = _rank(user * traces.hours + hour, of_visits.random(len(user))) < visits_per_hour
    if hours_per_user is not None:
        keys = of_hours.random((len(traces.users), traces.hours))
        kept &= _rank_of_hour(user, hour, keys) < hours_per_user
    return trace_matrix(traces, user[kept], place[kept], hour[kept], traces.hours)


def not_empty(traces: Traces) -> Traces:
    """The traces, if there is a visit in them."""
    if not traces.matrix.nnz:
        raise BadInput("traces must hold at least one visit, got none: give traces of people who were somewhere")
    return traces


def _rank_of_hour(user: Ints, hour: Ints, keys: Floats) -> Ints:
    """For each visit, how many of the hours in which the user was seen have a smaller key."""
    hours = keys.shape[1]
    seen, visit = np.unique(user * hours + hour, return_inverse=True)
    rank: Ints = _rank(seen // hours, keys.reshape(-1)[seen])[visit]
    return rank


def _rank(group: Ints, key: Floats) -> Ints:
    """The place of each row within its group, by its key, from 0."""
    order = np.lexsort((key, group))
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    rank = np.empty(len(group), dtype=np.int64)
    rank[order] = np.arange(len(group)) - np.repeat(starts, np.diff(np.append(starts, len(group))))
    return rank
