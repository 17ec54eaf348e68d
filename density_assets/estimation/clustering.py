"""From noisy histograms to counts: clusters of cells, whole numbers, and totals that are kept.

Whole counts whose sum in each hour is the rounded sum of the density.

Noisy histograms as counts people could have: whole, not negative, with the same totals (Chen et al., Alg. 3).

Clusters of neighbouring cells, each large enough for its series to stand out of the noise.

Only noisy totals and public geometry are read, so clustering costs no privacy (Acs & Castelluccia 2014, §5.3.1).

From the shape of a cluster's week and the totals of its cells to the cells' series.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from density_assets.series import Floats


def round_by_largest_remainder(density: NDArray[np.float64]) -> NDArray[np.int64]:
    """Round each value down or up so that every column sums to its rounded sum.

    The values with the largest fractional parts go up (Hamilton's method of apportionment); of equal ones, those of
    the first cells. Whole values stay, and no value moves by 1 or more.

    density: shape (cells, hours), not negative.
    """
    if not (np.isfinite(density) & (density >= 0)).all():
        raise ValueError(
            f"a density must be finite and not negative, got values from {density.min()} to {density.max()}; "
            "clip negative values before rounding"
        )
    down = np.floor(density)
    missing = np.rint(density.sum(axis=0)) - down.sum(axis=0)
    largest_first = np.argsort(down - density, axis=0, kind="stable")
    goes_up = np.zeros(density.shape, dtype=np.int64)
    np.put_along_axis(goes_up, largest_first, np.arange(len(density))[:, None] < missing, axis=0)
    return down.astype(np.int64) + goes_up


def consistent(noisy: NDArray[np.float64], random: np.random.Generator) -> NDArray[np.int64]:
    """Round, raise what is negative to zero, and take that mass back from random positive bins; one row per stamp.

    The total of each rounded row is kept; a row whose total is negative becomes zero.
    """
    counts = np.rint(noisy).astype(np.int64)
    for row in counts:
        owed = int(-row[row < 0].sum())
        np.maximum(row, 0, out=row)
        _take(row, owed, random)
    return counts


def _take(row: NDArray[np.int64], owed: int, random: np.random.Generator) -> None:
    """Take units from bins drawn uniformly among the positive ones.

    One unit at a time, a bin drawn when it is empty is drawn again. So `owed` draws at once are the same process: what
    hits an empty bin is owed still, and nothing more than `owed` can be taken.
    """
    if owed >= row.sum():
        row[:] = 0
        return
    while owed:
        positive = np.flatnonzero(row)
        drawn = random.multinomial(owed, np.full(len(positive), 1 / len(positive)))
        taken = np.minimum(drawn, row[positive])
        row[positive] -= taken
        owed -= int(taken.sum())


def scaled_to(counts: NDArray[Any], people: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Rows scaled to so many people, whole by largest remainder; a row without anybody has everyone anywhere.

    Small counts have equal remainders, and the order of cells says nothing: of equal ones, chance decides.
    """
    scaled = np.empty(counts.shape, dtype=np.int64)
    total = counts.sum(axis=1)
    cells = np.arange(counts.shape[1])
    scaled[total <= 0] = random.multinomial(people, np.full(len(cells), 1 / len(cells)), int((total <= 0).sum()))
    shuffled = random.permuted(np.tile(cells, (len(counts), 1)), axis=1)[total > 0]
    shares = people * counts[total > 0] / total[total > 0, None]
    rounded = round_by_largest_remainder(np.take_along_axis(shares, shuffled, axis=1).T).T
    scaled[total > 0] = np.take_along_axis(rounded, np.argsort(shuffled, axis=1), axis=1)
    return scaled


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
