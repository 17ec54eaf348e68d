"""Generalisation: tell less precisely where (SPG), when (TG) or how many (DGFR, DGAR). Pyrgelis et al., §4.2.1.

Merged regions of interest (ROIs) and slots count users, not points: who was in two merged ROIs counts once. The
series is then spread back over the ROIs and hours it stands for, because utility is measured there. Both follow from
the published tables: with one ROI for all of San Francisco, MRE is 168.6/125 of that of the constant 125, and 168.6 is
how many of 250 cabs are active in a mean hour.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from density_assets.research.traces.matrix import Traces, trace_matrix

Counts = NDArray[Any]
Ints = NDArray[np.int64]


def merged_places(traces: Traces, label: Ints) -> Traces:
    """Traces over merged ROIs; the merged ROI lies amid its parts.

    label: the merged ROI of each ROI, numbered from 0.
    """
    user, roi, hour = traces.points()
    size = int(label.max()) + 1
    share = np.bincount(label, minlength=size)
    middle = [np.bincount(label, weights=axis, minlength=size) / share for axis in traces.positions.T]
    coarse = Traces(traces.matrix, traces.users, traces.hours, np.stack(middle, axis=1))
    return trace_matrix(coarse, user, label[roi], hour, traces.hours)


def merged_slots(traces: Traces, length: int) -> Traces:
    """Traces over slots of `length` hours; the last may be shorter."""
    user, roi, hour = traces.points()
    return trace_matrix(traces, user, roi, hour // length, -(-traces.hours // length))


def grid_labels(rows: int, columns: int, coarse: int) -> Ints:
    """The cell of a coarse x coarse grid that each cell of a grid lies in, numbered row by row."""
    row, column = np.divmod(np.arange(rows * columns), columns)
    return np.asarray(row * coarse // rows * coarse + column * coarse // columns)


def neighbour_labels(positions: NDArray[np.float64], size: int) -> Ints:
    """Groups of `size` ROIs near each other: each ROI left, in order, takes the nearest others left."""
    label = np.full(len(positions), -1)
    for number in range(-(-len(positions) // size)):
        left = np.flatnonzero(label < 0)
        away = np.linalg.norm(positions[left] - positions[left[0]], axis=1)
        label[left[np.argsort(away, kind="stable")[:size]]] = number
    return label


def fixed_ranges(counts: Counts, length: int) -> Counts:
    """Each count becomes the middle of its range of `length` numbers: 0 … length-1, length … (DGFR).

    The middle is rounded down to a whole number, as the published errors have it (1 for two numbers, 2 for five).
    """
    return np.asarray(counts // length * length + length // 2, dtype=np.float32)


def adaptive_ranges(counts: Counts, buckets: int) -> Counts:
    """Ranges between the smallest and the largest count of each series, about `buckets` of them (DGAR).

    The range is a whole number, at least 1, so series of few different counts stay as they are; the largest count
    begins a range of its own, which is why a single bucket still has a correlation in the published tables.
    """
    least = counts.min(axis=-1, keepdims=True)
    length = np.maximum((counts.max(axis=-1, keepdims=True) - least) // buckets, 1)
    return np.asarray(least + (counts - least) // length * length + length // 2, dtype=np.float32)
