"""How well an estimate finds the busiest regions of interest (ROIs) of each slot, and their order.

The busiest are the 10 % with the highest counts, at least one, rounded. Definitions of Pyrgelis et al., §5.2.

Ties are broken by lot: each slot has an order of its ROIs, drawn once and for all, the same for the original and for
the estimate. A fixed order would judge a map without any information by where its first ROIs happen to lie; so drawn,
it finds a tenth of the busiest, as the tables have it (F1 0.103 where every count is the same).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from density_assets.research.metrics.pairs import Floats, paired

BUSIEST_SHARE = 0.1
LOTS = 2008  # seed of the order in which ties are broken


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
