"""Which places are counted together (RescueDP, Wang et al. 2016): small ones that moved alike, by released values.

A place is expected to be as large as the mean of its last samples. Places that are large, or have too few samples, stay
alone. The others are sorted by size; the smallest founds a group, and takes in those after it that are close in size
and correlated with it, until the group is large; then the next founds one.
"""

from dataclasses import dataclass

import numpy as np

from density_assets.research.streams.feedback import Flags
from density_assets.research.streams.terms import Floats, Ints


@dataclass(frozen=True)
class Alike:
    """Thresholds: a size from which on a place or group is large, a correlation, and a difference of sizes."""

    small: float
    correlated: float
    close: float


def group_labels(recent: Floats, due: Flags, alike: Alike) -> Ints:
    """A group for each place that is due, numbered from 0; −1 for the others.

    recent: the last samples of each place, (samples, places); nan where there are fewer.
    """
    size = recent.mean(axis=0)
    alone = due & ~(size <= alike.small)  # also where the size is not known
    labels = np.full(len(due), -1)
    labels[alone] = np.arange(alone.sum())
    waiting = np.flatnonzero(due & ~alone)
    waiting = waiting[np.argsort(size[waiting], kind="stable")]
    correlation = correlations(np.nan_to_num(recent))
    for label in range(int(alone.sum()), len(due)):
        if not len(waiting):
            break
        founder, others = waiting[0], waiting[1:]
        similar = (correlation[founder, others] > alike.correlated) & (size[others] - size[founder] < alike.close)
        before = size[founder] + np.cumsum(np.where(similar, size[others], 0.0)) - np.where(similar, size[others], 0.0)
        members = similar & (before < alike.small)
        labels[founder] = labels[others[members]] = label
        waiting = others[~members]
    return labels


def correlations(series: Floats) -> Floats:
    """Pearson correlations of columns; 0 where one is constant."""
    centred = series - series.mean(axis=0)
    norm = np.linalg.norm(centred, axis=0)
    unit = np.divide(centred, norm, out=np.zeros_like(centred), where=norm > 0)
    correlation: Floats = unit.T @ unit
    return correlation
