"""Whom to attack: users of three mobility groups, the same number of each. Pyrgelis et al., §3.1."""

import numpy as np
from numpy.typing import NDArray

from density_assets.research.traces.matrix import Traces

Ints = NDArray[np.int64]
MOBILITY = ("barely mobile", "somewhat mobile", "highly mobile")
PER_GROUP = 50


def mobility_groups(traces: Traces) -> tuple[Ints, Ints, Ints]:
    """Users in three equal parts by their number of points; users without any are left out."""
    points = np.diff(traces.matrix.indptr)
    order = np.argsort(points, kind="stable")
    low, middle, high = np.array_split(order[points[order] > 0], 3)
    return low, middle, high


def choose_victims(traces: Traces, seed: int, per_group: int = PER_GROUP) -> Ints:
    """Victims of each mobility group, drawn at random: (groups, victims); fewer where a group is smaller."""
    rng = np.random.default_rng(seed)
    groups = mobility_groups(traces)
    count = min(per_group, *(len(group) for group in groups))
    return np.stack([rng.permutation(group)[:count] for group in groups])
