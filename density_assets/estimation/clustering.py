"""Clusters of neighbouring cells, each large enough for its series to stand out of the noise.

Only noisy totals and public geometry are read, so clustering costs no privacy (Acs & Castelluccia 2014, §5.3.1).
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def cluster(totals: Floats, centroids: Floats, areas: Floats, threshold: float) -> NDArray[np.int64]:
    """The cluster 0..m-1 of each cell, clusters numbered by their first cell (Acs & Castelluccia 2014, Alg. 3).

    While the smallest cluster is below the threshold, it is merged with the one whose centre is nearest. Ties go to
    the cluster whose first cell comes first. A threshold out of reach leaves one cluster of all cells.

    totals: noisy, so they may be negative; in the unit of the threshold.
    centroids: shape (cells, 2), in metres; areas: of the same polygons, the weights of their centroids.
    """
    _refuse_unusable(totals, centroids, areas)
    # A cluster lives in the row of its first cell: the first minimum is then the one that ties go to. Rows merged
    # into another hold infinity, so that they are neither small nor near.
    size, centre, home = totals.astype(np.float64), centroids.astype(np.float64), np.arange(len(totals))
    # The centroid of a union is the area-weighted mean of its members': polygons of a partition do not overlap.
    area, moment = areas.astype(np.float64), areas[:, None] * centroids
    for _ in range(len(totals) - 1):
        smallest = int(size.argmin())
        if size[smallest] >= threshold:
            break
        kept, gone = sorted((smallest, _nearest(smallest, centre)))
        for sums in (size, area, moment):
            sums[kept] += sums[gone]
        centre[kept] = moment[kept] / area[kept]
        size[gone], centre[gone] = np.inf, np.inf
        home[home == gone] = kept
    return np.unique(home, return_inverse=True)[1].astype(np.int64)


def _nearest(row: int, centre: Floats) -> int:
    """The other row whose centre is nearest."""
    east, north = (centre - centre[row]).T
    distance = east * east + north * north
    distance[row] = np.inf
    return int(distance.argmin())


def _refuse_unusable(totals: Floats, centroids: Floats, areas: Floats) -> None:
    """A value that is not finite would end the merging early, an area of zero has no centroid."""
    expected = (len(totals),), (len(totals), 2), (len(totals),)
    if (totals.shape, centroids.shape, areas.shape) != expected:
        raise ValueError(
            "totals, centroids and areas must have shapes (cells,), (cells, 2) and (cells,), "
            f"got {totals.shape}, {centroids.shape} and {areas.shape}; give one of each per cell"
        )
    usable = np.isfinite(totals) & np.isfinite(centroids).all(axis=1) & np.isfinite(areas) & (areas > 0)
    if not usable.all():
        raise ValueError(
            "every cell must have a finite total, a finite centroid and a positive area, "
            f"got {np.count_nonzero(~usable)} of {len(usable)} without (first at position {usable.argmin()}); "
            "check the polygons of these cells"
        )
