"""From the shape of a cluster's week and the totals of its cells to the cells' series."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def scale_back(cluster_series: Floats, labels: NDArray[np.int64], totals: Floats) -> Floats:
    """The series of each cell: its own total, spread over the week as in its cluster.

    X̂^i = Ŝ_i · X̂^E / ‖X̂^E‖₁    (Acs & Castelluccia 2014, Alg. 2, line 6)

    Noise makes some values and totals negative; they count as zero. Each row of the result therefore sums to the
    cell's total, or to zero if that was negative.

    cluster_series: shape (clusters, hours); labels: the cluster of each cell; totals: of each cell, noisy.
    """
    if labels.shape != totals.shape:
        raise ValueError(
            f"labels and totals must be given once per cell, got shapes {labels.shape} and {totals.shape}; "
            "use the totals of the cells that were clustered"
        )
    return _week_shares(cluster_series)[labels] * np.maximum(totals, 0.0)[:, None]


def _week_shares(series: Floats) -> Floats:
    """The part of the week's visits in each hour: not negative, each row sums to 1.

    A series without a positive value says nothing about the week: its visits are spread evenly over the hours, as
    leaving them out would lose the total, which was measured on its own.
    """
    clipped = np.maximum(series, 0.0)
    clipped[~clipped.any(axis=1)] = 1.0
    week: Floats = clipped.sum(axis=1, keepdims=True)
    return clipped / week
