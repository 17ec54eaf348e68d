"""What a defense works on: the groups whose aggregates are to be released, and the traces behind them."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from density_assets.research.traces.matrix import Matrix, Traces, group_sums

Counts = NDArray[np.float32]  # (groups, rois, hours)


@dataclass(frozen=True)
class Groups:
    """Groups of users of one week.

    members: groups x users, ones; a release is made of each row.
    sampled_with: the seed of defenses that sample every user's points once, so that all releases are of the same
    points; without one each release samples anew.
    """

    traces: Traces
    members: Matrix
    sampled_with: tuple[int, ...] | None = None

    @cached_property
    def counts(self) -> Counts:
        """The true aggregates: users per group, ROI and hour."""
        sums = group_sums(self.members, self.traces.matrix)
        return sums.reshape(len(sums), self.traces.rois, self.traces.hours)

    @property
    def size(self) -> int:
        """Users in the largest group: no count exceeds it."""
        return int(np.asarray(self.members.sum(axis=1)).max())

    @property
    def norm(self) -> float:
        """The largest L2 norm of one user's traces: the root of the number of points."""
        return float(np.sqrt(np.diff(self.traces.matrix.indptr).max(initial=1)))

    def among(self, traces: Traces) -> "Groups":
        """The same groups with other traces of the same users."""
        return replace(self, traces=traces)
