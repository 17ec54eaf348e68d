"""Pearson correlation between the original and the estimated series of each place."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from density_assets.research.metrics.pairs import Floats, paired


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
