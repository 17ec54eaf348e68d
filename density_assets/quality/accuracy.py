"""How far an estimate is from the truth: relative errors, Pearson correlation, earth mover's distance.

`true` is the original (before truncation) and `estimate` what a scheme or a defence made of it, both places x hours
unless said otherwise. The results are computed from personal data: they are confidential, never part of a release.

Every relative error is |x̂ − x| / max(γ, x); publications differ in the sanity bound γ and in what they average over.
Where max(γ, x) = 0 the error is undefined: nan.

The earth mover's distance of two maps is how far, in metres, the mass of one must move to give the other:
EMD(p, q) = min_f Σ f_ij·d_ij over flows f ≥ 0 with row sums p and column sums q, where p and q are the shares of the
cells and d the distance between their centroids (Acs & Castelluccia 2014, §6). Centroids are public.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from density_assets.series import Floats

HOURS_OF_DAY = 24
GAMMA_SHARE = 0.001  # of the sum of the series; Acs & Castelluccia 2014, §3.3
MAX_PIVOTS = 10_000_000  # of the network simplex; a thousand cells need some tens of thousands


def paired(true: NDArray[Any], estimate: NDArray[Any]) -> tuple[Floats, Floats]:
    """Both in double precision; refused unless they have one shape (numpy would broadcast) and finite values."""
    true, estimate = np.asarray(true, np.float64), np.asarray(estimate, np.float64)
    if true.shape != estimate.shape or true.size == 0:
        raise ValueError(f"original and estimate must have one shape and a value, got {true.shape}, {estimate.shape}")
    for name, values in (("original", true), ("estimate", estimate)):
        if not np.isfinite(values).all():
            raise ValueError(f"the {name} must be finite, got {np.sum(~np.isfinite(values))} values that are not")
    return true, estimate


def shares(counts: Floats) -> Floats:
    """Each column as shares of its sum, which then is 1; a column without mass stays 0."""
    if counts.min() < 0:
        raise ValueError(f"a map must have no negative count, got {counts.min():g}: clip it first")
    mass = counts.sum(axis=0)
    normalised: Floats = np.divide(counts, mass, out=np.zeros_like(counts), where=mass > 0)
    return normalised


def by_hour_of_day(values: Floats) -> Floats:
    """The mean of each hour of the day over the days of a week in which it is defined; nan if it never is."""
    return np.array([mean_where_defined(values[hour::HOURS_OF_DAY]) for hour in range(HOURS_OF_DAY)])


def mean_where_defined(values: Floats) -> float:
    """The mean of the values that are not nan; nan if none is."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else float("nan")


def relative_errors(true: NDArray[Any], estimate: NDArray[Any], gamma: float | Floats) -> Floats:
    """|x̂ − x| / max(γ, x) of each place and hour; γ is one number or broadcasts, e.g. one per row as (rows, 1)."""
    true, estimate = paired(true, estimate)
    bound = np.maximum(gamma, true)
    errors: Floats = np.divide(np.abs(estimate - true), bound, out=np.full(true.shape, np.nan), where=bound > 0)
    return errors


def mre_per_cell(true: NDArray[Any], estimate: NDArray[Any], gamma_share: float = GAMMA_SHARE) -> Floats:
    """Mean relative error of each cell over its hours, γ = gamma_share · Σ_t x (Acs & Castelluccia 2014, §3.3).

    A cell that nobody visited all week has γ = 0 and no relative error: nan, whatever the estimate. So the cells that
    have one depend on the original alone, and two schemes are compared on the same cells; mass that an estimate
    invents in the others shows in the earth mover's distance.
    """
    gamma = gamma_share * np.asarray(true, np.float64).sum(axis=1, keepdims=True)
    means: Floats = relative_errors(true, estimate, gamma).mean(axis=1)
    return means


def mre_per_hour(true: NDArray[Any], estimate: NDArray[Any]) -> Floats:
    """Mean relative error of each hour over the cells that have one, with the γ of `mre_per_cell`; nan if none has."""
    gamma = GAMMA_SHARE * np.asarray(true, np.float64).sum(axis=1, keepdims=True)
    seen = gamma[:, 0] > 0
    if not seen.any():
        return np.full(np.shape(true)[1], np.nan)
    means: Floats = relative_errors(true[seen], estimate[seen], gamma[seen]).mean(axis=0)
    return means


def mre(true: NDArray[Any], estimate: NDArray[Any]) -> float:
    """MRE of Acs & Castelluccia 2014: the mean over the cells that have one; nan if none has."""
    return mean_where_defined(mre_per_cell(true, estimate))


def pearson_per_row(true: NDArray[Any], estimate: NDArray[Any]) -> Floats:
    """Σ(x−x̄)(y−ȳ) / sqrt(Σ(x−x̄)²·Σ(y−ȳ)²) of each row; 0 where either series is constant."""
    true, estimate = paired(true, estimate)
    x, y = _standardised(true), _standardised(estimate)
    correlations: Floats = np.clip(np.einsum("it,it->i", x, y), -1, 1)
    return correlations


def pearson(true: NDArray[Any], estimate: NDArray[Any]) -> float:
    """PC of Acs & Castelluccia 2014 and r of Pyrgelis et al.: the mean over rows, constant series counting 0."""
    return float(pearson_per_row(true, estimate).mean())


def _standardised(series: Floats) -> Floats:
    """Rows of mean 0 and norm 1; a constant row is 0.

    Constant means equal values, not zero variance: the mean of equal values can be off by a rounding error. Dividing
    by the largest deviation first keeps squares of tiny counts from underflowing.
    """
    varies = np.ptp(series, axis=1, keepdims=True) > 0
    centred = np.where(varies, series - series.mean(axis=1, keepdims=True), 0.0)
    scaled = centred / np.where(varies, np.abs(centred).max(axis=1, keepdims=True), 1.0)
    return scaled / np.where(varies, np.linalg.norm(scaled, axis=1, keepdims=True), 1.0)


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
