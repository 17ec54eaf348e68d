"""Relative and absolute errors of counts, with the sanity bounds γ of three publications.

Every relative error here is |x̂ − x| / max(γ, x); the papers differ in γ and in what they average over.
Where max(γ, x) = 0 the error is undefined: nan.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from density_assets.research.metrics.pairs import Floats, mean_where_defined, paired
from density_assets.research.metrics.ranking import busiest

GAMMA_SHARE = 0.001  # of the sum of the series; Acs & Castelluccia 2014, §3.3
PUBLISHED_GAMMA_SHARE = 0.1  # with which the tables of Pyrgelis et al. come out; their text leaves γ open
HOURS_OF_A_DAY = 24
CHEN_GAMMA = 0.001  # a count; Chen et al., §7.3


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


def mre_published_pyrgelis(true: NDArray[Any], estimate: NDArray[Any]) -> float:
    """MRE as in the published tables of Pyrgelis et al.: γ = 10 % of Σ_t x; a ROI without visits counts 0.

    Over a week max(γ, x) is mostly γ, so these numbers are up to a hundred times smaller than `mre`: not comparable.
    """
    return float(np.nan_to_num(mre_per_cell(true, estimate, PUBLISHED_GAMMA_SHARE), nan=0.0).mean())


def near_empty(true: NDArray[Any]) -> NDArray[np.bool_]:
    """Which ROIs have fewer than one visit a day on average over their hours."""
    true = np.asarray(true, np.float64)
    return np.asarray(true.sum(axis=1) < true.shape[1] / HOURS_OF_A_DAY)


def mre_published_pyrgelis_visited(true: NDArray[Any], estimate: NDArray[Any]) -> float:
    """`mre_published_pyrgelis` without the near-empty ROIs; nan if there are no others.

    An ROI of one visit in a week has γ = 0.1, and an estimate of 5 counts 50 there and 0.05 where there are a thousand:
    a dozen of near-empty ROIs decides the mean of a hundred.
    """
    true, estimate = paired(true, estimate)
    rows = ~near_empty(true)
    return mre_published_pyrgelis(true[rows], estimate[rows]) if rows.any() else float("nan")


def mre_published_pyrgelis_busiest(true: NDArray[Any], estimate: NDArray[Any]) -> float:
    """`mre_published_pyrgelis` over the 10 % of ROIs that are busiest by Σ_t x (their "MRE 10%")."""
    true, estimate = paired(true, estimate)
    rows = busiest(true.sum(axis=1))
    return mre_published_pyrgelis(true[rows], estimate[rows])


def mae_chen(true: NDArray[Any], estimate: NDArray[Any]) -> float:
    """MAE of Chen et al.: mean over places per time stamp, then over time stamps."""
    true, estimate = paired(true, estimate)
    return float(np.abs(estimate - true).mean())  # the mean of means over equally many places


def mre_chen(true: NDArray[Any], estimate: NDArray[Any]) -> float:
    """MRE of Chen et al., γ = 0.001: mean over places per time stamp, then over time stamps.

    An empty place that is estimated as 1 counts 1000: the mean is governed by empty places.
    """
    return float(relative_errors(true, estimate, CHEN_GAMMA).mean())
