"""Earth mover's distance between two maps: how far, in metres, the mass of one must move to give the other.

EMD(p, q) = min_f Σ f_ij·d_ij over flows f ≥ 0 with row sums p and column sums q, where p and q are the shares of the
cells and d the distance between their centroids (Acs & Castelluccia 2014, §6). Centroids are public.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from density_assets.research.metrics.pairs import Floats, mean_where_defined, paired, shares

MAX_PIVOTS = 10_000_000  # of the network simplex; a thousand cells need some tens of thousands


def emd_per_hour(
    true: NDArray[Any],
    estimate: NDArray[Any],
    centroids: NDArray[Any],
    hours: Sequence[int] | None = None,
    threads: int = 1,
) -> Floats:
    """Distance in metres for each column, or for each of `hours`.

    `centroids` has a row (x, y) in metres per cell. `threads` hours are solved at a time: the solver runs outside
    Python's lock. An hour in which one map alone is empty is undefined: nan; two empty maps agree: 0.
    """
    true, estimate = paired(true, estimate)
    if np.shape(centroids) != (len(true), 2):
        raise ValueError(f"centroids must be {len(true)} rows of x and y, got shape {np.shape(centroids)}")
    chosen = range(true.shape[1]) if hours is None else hours
    p, q = shares(true[:, chosen]), shares(estimate[:, chosen])
    metres = cdist(centroids, centroids)
    with ThreadPoolExecutor(threads) as pool:
        return np.array(list(pool.map(lambda t: _emd(p[:, t], q[:, t], metres), range(p.shape[1]))))


def mean_emd(
    true: NDArray[Any],
    estimate: NDArray[Any],
    centroids: NDArray[Any],
    hours: Sequence[int] | None = None,
    threads: int = 1,
) -> float:
    """EMD of Acs & Castelluccia 2014: the mean over the hours in which it is defined."""
    return mean_where_defined(emd_per_hour(true, estimate, centroids, hours, threads))


def _emd(p: Floats, q: Floats, metres: Floats) -> float:
    """Cancel the mass both maps have in the same cell, move the rest.

    In a metric some optimal flow leaves shared mass where it is: flow through a cell, i to k to j, never costs less
    than i to j directly. So cancelling is exact, and it halves the rows and the columns of the problem.
    """
    if p.any() != q.any():
        return float("nan")
    kept = np.minimum(p, q)
    surplus, lack = p - kept, q - kept
    givers, takers = np.flatnonzero(surplus), np.flatnonzero(lack)
    if not (givers.size and takers.size):  # equal, but for rounding
        return 0.0
    moved = (surplus.sum() + lack.sum()) / 2  # equal, but for rounding
    return float(moved) * _transport(surplus[givers], lack[takers], metres[np.ix_(givers, takers)])


def _transport(supply: Floats, demand: Floats, metres: Floats) -> float:
    """The least cost per unit of mass, scaled to 1 for the solver, whose tolerance is absolute.

    Raises:
        RuntimeError: the solver stopped before it proved its solution optimal
    """
    import ot  # takes a second, which every start of the graph would pay for

    supply, demand = supply / supply.sum(), demand / demand.sum()
    cost, log = ot.emd2(supply, demand, metres, numItermax=MAX_PIVOTS, log=True)
    if log["warning"] is not None:
        raise RuntimeError(f"the earth mover's distance must be optimal, got: {log['warning']}")
    return float(cost)
