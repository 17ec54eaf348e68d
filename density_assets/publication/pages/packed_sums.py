"""What the page's script needs to tell the error of the cells a reader chooses: in an hour, on a day, in the week.

The table of errors of sums (`sum_errors.py`) holds patterns of cells and of hours. A page asks for 176 periods only, so
of patterns of hours it needs one square per kind and period; those of cells travel as numbers of two bytes.
"""

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from density_assets.calendar import HOURS
from density_assets.estimation.weeks.summary import Kind, Summary

MOST_CELLS = 2**16  # that two bytes can number
LARGEST = 2**15 - 1
DIGITS = 4  # as in the published table


def packed_sums(summary: Summary, happens: NDArray[np.bool_]) -> dict[str, Any] | None:
    """The summary for `sums.js`; nothing of a city with more cells than it can number.

    happens: whether an hour does; a day or week is the sum of those that do.
    """
    if any(kind.cells.shape[0] > MOST_CELLS for kind in summary.kinds):
        return None
    return {
        "kinds": [_packed(kind, happens) for kind in summary.kinds],
        "width": summary.city.shape[1],
        "city": _text(summary.city.astype("<f4")),
    }


def _packed(kind: Kind, happens: NDArray[np.bool_]) -> dict[str, Any]:
    """hours: the square of the patterns of hours in each period. cells, values: entry by entry, pattern after pattern.

    counts: entries of each pattern. scales: what a pattern's whole numbers are to be multiplied by.
    """
    patterns = csc_array(kind.cells)
    patterns.sort_indices()
    scales = abs(patterns).max(axis=0).toarray() / LARGEST
    counts = np.diff(patterns.indptr)
    values = np.rint(patterns.data / np.repeat(np.where(scales > 0, scales, 1), counts))
    return {
        "hours": [_short(square) for square in _squares(kind.hours, happens)],
        "counts": counts.tolist(),
        "scales": [_short(scale) for scale in scales],
        "cells": _text(patterns.indices.astype("<u2")),
        "values": _text(values.astype("<i2")),
    }


def _squares(hours: NDArray[np.float64], happens: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Of patterns of hours in 168 hours, seven days and the week."""
    each = hours * happens[:, None]
    days = _added(each.reshape(7, HOURS // 7, -1), axis=1)
    return _added(np.concatenate([hours, days, _added(each, axis=0)[None]]) ** 2, axis=1)


def _added(values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """A sum taken one number after another, which has the same last digit on every machine: pages are signed."""
    return np.asarray(np.cumsum(values, axis=axis).take(-1, axis=axis))


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS + 2}g}")


def _text(numbers: NDArray[Any]) -> str:
    return base64.b64encode(numbers.tobytes()).decode()
