"""Denoising a noisy matrix of towers by hours, from the noisy values and the public sigma alone.

Everything here is post-processing: it reads what a mechanism released and spends no privacy.
"""

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def shrink(noisy: Floats, sigma: float) -> Floats:
    """Optimal shrinkage of singular values for Frobenius loss, with known noise.

    For a matrix m x n, m >= n, of signal plus independent noise of standard deviation sigma, a singular value y in
    units of sigma·sqrt(m) becomes

        sqrt((y² - β - 1)² - 4β) / y  where y > 1 + sqrt(β), else 0,        β = n/m

    (Gavish & Donoho 2017, "Optimal shrinkage of singular values", eq. 7). Below the threshold singular values of
    the signal cannot be told from those of noise.
    """
    _check(noisy, sigma)
    if sigma == 0:
        return noisy.copy()
    left, values, right = np.linalg.svd(noisy, full_matrices=False)
    unit, beta = sigma * math.sqrt(max(noisy.shape)), min(noisy.shape) / max(noisy.shape)
    return np.asarray((left * (unit * _optimal(values / unit, beta))) @ right)


def estimate(noisy: Floats, sigma: float) -> Floats:
    """The best estimate of non-negative counts behind a noisy matrix."""
    return np.maximum(shrink(noisy, sigma), 0.0)


def _optimal(values: Floats, beta: float) -> Floats:
    """Shrunk singular values, in units of sigma·sqrt(m)."""
    kept = values > 1 + math.sqrt(beta)
    safe = np.where(kept, values, 1 + math.sqrt(beta))
    return np.where(kept, np.sqrt(np.maximum((safe**2 - beta - 1) ** 2 - 4 * beta, 0.0)) / safe, 0.0)


def _check(noisy: Floats, sigma: float) -> None:
    if noisy.ndim != 2 or not np.isfinite(noisy).all():
        raise ValueError(f"noisy must be a finite matrix, got shape {noisy.shape}")
    if not (math.isfinite(sigma) and sigma >= 0):
        raise ValueError(f"sigma must be finite and not negative, got sigma={sigma}")
