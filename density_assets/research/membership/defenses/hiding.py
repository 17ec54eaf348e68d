"""Hiding: leave points out (SSC, SLP, SMP). Pyrgelis et al., §4.2.2."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from density_assets.research.traces.matrix import Traces, trace_matrix

Counts = NDArray[Any]


def suppress_small(counts: Counts, least: float) -> Counts:
    """Counts below `least` become 0 (SSC)."""
    return np.where(counts < least, np.float32(0), counts)


def suppress_unpopular(counts: Counts, share: float) -> Counts:
    """Counts of unpopular regions of interest (ROIs) in unpopular slots become 0 (SLP).

    share: how many of the ROIs, and of the slots, are unpopular: those with the smallest sums, the first among equals.
    Both must be unpopular: in the published tables the busiest ROIs lose nothing, whatever the share.
    """
    places = _lowest(counts.sum(axis=-1), share)[..., :, None]
    slots = _lowest(counts.sum(axis=-2), share)[..., None, :]
    return np.where(places & slots, np.float32(0), counts)


def _lowest(sums: Counts, share: float) -> NDArray[np.bool_]:
    rank = np.argsort(np.argsort(sums, axis=-1, kind="stable"), axis=-1)
    return np.asarray(rank < round(share * sums.shape[-1]))


def sample_points(traces: Traces, share: float, rng: np.random.Generator) -> Traces:
    """Without `share` of each user's points (rounded), drawn at random (SMP)."""
    user, roi, hour = traces.points()
    order = np.lexsort((rng.random(len(user)), user))
    sizes = np.diff(traces.matrix.indptr)
    rank = np.arange(len(user)) - np.repeat(traces.matrix.indptr[:-1], sizes)
    kept = np.sort(order[rank >= np.rint(share * sizes)[user]])
    return trace_matrix(traces, user[kept], roi[kept], hour[kept], traces.hours)


def thin(counts: Counts, share: float, rng: np.random.Generator) -> Counts:
    """Aggregates of points each of which is left out with chance `share`: SMP afresh for every aggregate.

    The same as `sample_points` but for the number left out per user, which is `share` on average only. An attack needs
    thousands of aggregates; sampling the traces of each would take a hundred times longer.
    """
    kept = np.zeros(counts.shape, dtype=np.float32)
    some = counts > 0
    kept[some] = rng.binomial(counts[some].astype(np.int64), 1.0 - share)
    return kept
