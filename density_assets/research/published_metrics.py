"""Measures of publications that are compared with their tables: relative errors, divergences, the busiest places.

Three publications differ in the sanity bound γ of a relative error |x̂ − x| / max(γ, x), and in what they average over.

Jensen–Shannon divergence is between shares of places, natural logarithm: JSD(p, q) = (KL(p‖m) + KL(q‖m)) / 2 with
m = (p+q)/2, in nats: 0 to ln 2 = 0.693. The distance is its square root, 0 to 0.833. A side without mass has no shares,
all of them 0: two such sides agree, and one beside a map with mass is at ln 2 / 2 = 0.347, a distance of 0.589.

The busiest regions of interest (ROIs) of a slot are the 10 % with the highest counts, at least one, rounded
(Pyrgelis et al., §5.2). Ties are broken by lot: each slot has an order of its ROIs, drawn once and for all, the same
for the original and for the estimate. A fixed order would judge a map without any information by where its first ROIs
happen to lie; so drawn, it finds a tenth of the busiest, as the tables have it (F1 0.103 where all counts are equal).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr

from density_assets.quality.accuracy import HOURS_OF_DAY, mre_per_cell, paired, relative_errors, shares
from density_assets.series import Floats

PUBLISHED_GAMMA_SHARE = 0.1  # with which the tables of Pyrgelis et al. come out; their text leaves γ open
CHEN_GAMMA = 0.001  # a count; Chen et al., §7.3
BUSIEST_SHARE = 0.1
LOTS = 2008  # seed of the order in which ties are broken
# EMD is a thousand times dearer than the other metrics. Every seventh hour of a week is each hour of the day once, on
# days that take turns: errors differ much between day and night, so no hour of the day may weigh more than another.
EMD_HOURS = range(0, 168, 7)


def mre_published_pyrgelis(true: NDArray[Any], estimate: NDArray[Any]) -> float:
    """MRE as in the published tables of Pyrgelis et al.: γ = 10 % of Σ_t x; a ROI without visits counts 0.

    Over a week max(γ, x) is mostly γ, so these numbers are up to a hundred times smaller than `mre`: not comparable.
    """
    return float(np.nan_to_num(mre_per_cell(true, estimate, PUBLISHED_GAMMA_SHARE), nan=0.0).mean())


def near_empty(true: NDArray[Any]) -> NDArray[np.bool_]:
    """Which ROIs have fewer than one visit a day on average over their hours."""
    true = np.asarray(true, np.float64)
    return np.asarray(true.sum(axis=1) < true.shape[1] / HOURS_OF_DAY)


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


def js_divergence_of_totals(true: NDArray[Any], estimate: NDArray[Any]) -> float:
    """Divergence of the frequencies of places, from one total per place (Acs & Castelluccia 2014, Fig. 6a)."""
    true, estimate = paired(true, estimate)
    if true.ndim != 1:
        raise ValueError(f"totals must be one number per place, got shape {true.shape}")
    return float(_divergences(true[:, None], estimate[:, None])[0])


def js_distance_per_slot(true: NDArray[Any], estimate: NDArray[Any]) -> Floats:
    """Distance of the two maps of each column; where both have mass, that of scipy's `jensenshannon`."""
    true, estimate = paired(true, estimate)
    return np.sqrt(_divergences(true, estimate))


def js_distance(true: NDArray[Any], estimate: NDArray[Any]) -> float:
    """The published "JS" of Pyrgelis et al., who call it a divergence: the mean distance over slots.

    Slots that a defence empties count 0.589. The tables have it so: with nearly everything suppressed (SSC, k = 160)
    they print 0.595, and slots of which anything is left are further away than that.
    """
    return float(js_distance_per_slot(true, estimate).mean())


def _divergences(true: Floats, estimate: Floats) -> Floats:
    p, q = shares(true), shares(estimate)
    middle = (p + q) / 2
    divergences: Floats = (rel_entr(p, middle) + rel_entr(q, middle)).sum(axis=0) / 2
    return np.maximum(divergences, 0)  # rounding can leave -1e-17


def busiest(counts: Floats) -> NDArray[np.intp]:
    """Row numbers of the busiest ROIs of each column, busiest first."""
    size = max(1, round(BUSIEST_SHARE * len(counts)))
    lots = np.argsort(np.random.default_rng(LOTS).random(counts.shape), axis=0)
    ranked = np.argsort(-np.take_along_axis(counts, lots, axis=0), axis=0, kind="stable")[:size]
    return np.take_along_axis(lots, ranked, axis=0)


def f1_of_busiest(true: NDArray[Any], estimate: NDArray[Any]) -> float:
    """F1 score of the estimate's busiest ROIs as a prediction of the true ones; mean over slots.

    Both sets have one size, so precision, recall and F1 are all the share of the true set that was found.
    """
    true, estimate = paired(true, estimate)
    wanted = _is_busiest(true)
    return float((wanted & _is_busiest(estimate)).sum() / wanted.sum())


def tau_of_busiest(true: NDArray[Any], estimate: NDArray[Any]) -> float:
    """Kendall τ-b between the true and the estimated counts of the truly busiest ROIs; mean over slots."""
    true, estimate = paired(true, estimate)
    rows = busiest(true)
    return float(_tau_b_per_column(_take(true, rows), _take(estimate, rows)).mean())


def tau_published(true: NDArray[Any], estimate: NDArray[Any]) -> float:
    """The published column: Kendall τ between two lists of ROI ids, each the busiest of its map, busiest first.

    Ids are row numbers: renumbering the ROIs changes the value. It is not a rank correlation of counts: one ROI more
    or less near the top shifts all ids behind it. For comparison with the tables only; see `tau_of_busiest`.
    """
    true, estimate = paired(true, estimate)
    return float(_tau_b_per_column(busiest(true), busiest(estimate)).mean())


def _tau_b_per_column(x: NDArray[Any], y: NDArray[Any]) -> Floats:
    """Kendall τ-b of each column: (P − Q) / sqrt((P+Q+T)·(P+Q+U)), T and U the pairs tied in one ranking only.

    0 where a ranking has no untied pair, as a constant series has correlation 0. One column at a time: all pairs of
    all columns at once would not fit in memory for thousands of ROIs.
    """
    first, second = np.triu_indices(len(x), 1)
    return np.array([_tau_b(a[first] - a[second], b[first] - b[second]) for a, b in zip(x.T, y.T, strict=True)])


def _tau_b(x_differences: NDArray[Any], y_differences: NDArray[Any]) -> float:
    x, y = np.sign(x_differences), np.sign(y_differences)
    untied = float(np.count_nonzero(x)) * float(np.count_nonzero(y))
    return float(x @ y) / untied**0.5 if untied else 0.0


def _is_busiest(counts: Floats) -> NDArray[np.bool_]:
    marked = np.zeros(counts.shape, bool)
    np.put_along_axis(marked, busiest(counts), True, axis=0)
    return marked


def _take(counts: Floats, rows: NDArray[np.intp]) -> Floats:
    return np.take_along_axis(counts, rows, axis=0)
