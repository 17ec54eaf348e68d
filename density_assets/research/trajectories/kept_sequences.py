"""Where people go one after the other: at most l_max visits of each, in different hours, in their order.

Chen, Acs & Castelluccia keep the first l_max items of a sequence; of a week that would be its Monday, so we keep
l_max hours at random and their order.
"""

import math

import numpy as np
from numpy.typing import NDArray

from density_assets.research.contributions import truncate
from density_assets.research.traces.matrix import Ints, Traces

Floats = NDArray[np.float64]


def kept_visits(traces: Traces, most: int, seed: int) -> tuple[Ints, Ints, Ints]:
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
