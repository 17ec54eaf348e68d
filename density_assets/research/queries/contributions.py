"""What one user may contribute before anything is counted, and how a density is scaled back afterwards.

Visits are truncated first: at most one place per hour and l hours in all, drawn at random for each user on their own.
Given the draws, what a user contributes depends on that user alone, and draws of different users are independent. So
traces with and without one user can be drawn together such that they differ by the row of that user, and every bound
for one row is a sensitivity. The number of all visits is lost by truncation; it is data, and is paid for.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from density_assets.errors import BadInput
from density_assets.research.traces.matrix import Traces, trace_matrix

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def truncate(traces: Traces, visits: int, seed: int) -> Traces:
    """At most one place per hour and `visits` hours of each user.

    Guarantees: every row has at most `visits` ones, in different hours, whatever the traces.
    """
    if visits < 1:
        raise BadInput(f"at least one visit of each user must be kept, got {visits}")
    if not traces.matrix.nnz:
        raise BadInput("traces must have at least one visit, got none: nothing can be answered")
    rng = np.random.default_rng([seed, 1])  # not the stream that noise is drawn from
    user, _, hour = traces.points()
    hourly = _chosen(traces, user * traces.hours + hour, 1, rng)
    return _chosen(hourly, hourly.points()[0], visits, rng)


def _chosen(traces: Traces, owner: Ints, most: int, rng: np.random.Generator) -> Traces:
    """At most so many points of each owner, drawn uniformly."""
    user, place, hour = traces.points()
    order = np.lexsort((rng.random(len(owner)), owner))
    rank = np.arange(len(order)) - np.searchsorted(owner[order], owner[order], side="left")
    kept = order[rank < most]
    return trace_matrix(traces, user[kept], place[kept], hour[kept], traces.hours)


def clamped_total(traces: Traces, clamp: int) -> float:
    """The number of visits of all users, each counted with at most `clamp`: the sensitivity of this number."""
    return float(np.minimum(np.diff(traces.matrix.indptr), clamp).sum())


def counts(traces: Traces) -> Floats:
    """Visits per column (place·hours + hour)."""
    return np.asarray(traces.matrix.sum(axis=0), dtype=float).ravel()


def scaled(values: Floats, total: float) -> Floats:
    """Values times a factor, so that they add up to a (noisy) total, which may turn out negative."""
    return np.asarray(values * (max(total, 0.0) / max(float(values.sum()), 1e-300)))


def nearest_counts(noisy: Floats, total: float) -> Floats:
    """The nearest numbers ≥ 0 with this sum (of at least 1): what noise added to empty places is taken off everywhere.

    All values are lowered by one amount and those below 0 become 0. Clipping alone would keep the positive half of
    the noise of each empty place.
    """
    falling: Any = np.sort(noisy.ravel())[::-1]
    excess = (np.cumsum(falling) - max(total, 1.0)) / np.arange(1, noisy.size + 1)
    last = np.flatnonzero(falling > excess)[-1]
    return np.asarray(np.maximum(noisy - excess[last], 0.0))
