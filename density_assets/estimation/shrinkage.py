"""Denoising a noisy matrix of towers by hours, from the noisy values, the public sigma and public geography.

All of it is post-processing: it reads what a mechanism released, so it spends no privacy and its choices need no
proof. What each part gained, and what was tried and left out, is in `docs/lowrank.md`.

`shrink` knows nothing but sigma. `posterior` also knows that towers near each other live in similar rhythms and that
days resemble days, and learns the rest: it is what releases used before weeks learned from weeks, and stays as it was,
so that their estimates can be made again. The estimator of `weeks/` knows more of small cities.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from density_assets.estimation.kronecker import BlockDiagonal, learn, modes, nearness, nothing, some_rows
from density_assets.series import Floats


def shrink(noisy: Floats, sigma: float) -> Floats:
    """Optimal shrinkage of singular values for Frobenius loss and known noise: the reference to beat.

    For a matrix m x n, m >= n, of signal plus independent noise of standard deviation sigma, a singular value y in
    units of sigma·sqrt(m) becomes

        sqrt((y² - β - 1)² - 4β) / y    where y > 1 + sqrt(β), else 0,    β = n/m

    (Gavish & Donoho 2017, "Optimal shrinkage of singular values"). Below the threshold the singular vectors tell
    nothing of the signal.
    """
    _check(noisy, sigma)
    if sigma == 0:
        return noisy.copy()
    left, values, right = np.linalg.svd(noisy, full_matrices=False)
    unit, beta = sigma * math.sqrt(max(noisy.shape)), min(noisy.shape) / max(noisy.shape)
    signal = values / unit > 1 + math.sqrt(beta)
    y = values[signal] / unit
    shrunk = unit * np.sqrt((y**2 - beta - 1) ** 2 - 4 * beta) / y
    return np.asarray((left[:, signal] * shrunk) @ right[signal])


@dataclass(frozen=True)
class Posterior:
    """What is known of the signal once the noisy matrix was seen.

    mean: the expected signal, shape (towers, hours); it may dip below zero.
    towers, hours: orthonormal columns along which errors are independent.
    variance: of those errors, shape (towers, hours).
    common: standard deviations, along the same columns, of the error that all towers share with the city's rhythm.
    """

    mean: Floats
    towers: BlockDiagonal
    hours: Floats
    variance: Floats
    common: Floats

    def standard_error(self, mapping: csr_array[np.float64, tuple[int, int]] | None = None) -> Floats:
        """Standard error of every entry of the mean, or of `mapping @ mean`, in the units of the noisy matrix.

        SE²_it = Σ_k V²_tk · (Σ_j (M U)²_ij · variance_jk + (M U common)²_ik)

        where U = towers, V = hours, M = mapping.

        It covers noise and what smoothing blurs, as far as the model holds. It is approximate: covariances are taken
        as known once learned (95 % intervals held 90 to 95 % of the time). It knows nothing of the bias of weights.
        """
        if mapping is None:
            return self._error(self.towers)
        return np.vstack([self._error(np.asarray(rows @ self.towers)) for rows in some_rows(mapping)])

    def _error(self, along_towers: BlockDiagonal | Floats) -> Floats:
        along_hours = along_towers**2 @ self.variance + (along_towers @ self.common) ** 2
        return np.asarray(np.sqrt(along_hours @ (self.hours**2).T))

    def week_error(self) -> Floats:
        """Standard error of each tower's sum over all hours: as above, with Σ_t V_tk in place of V_tk."""
        along_hours = self.towers**2 @ self.variance + (self.towers @ self.common) ** 2
        return np.asarray(np.sqrt(along_hours @ self.hours.sum(axis=0) ** 2))


def estimate(noisy: Floats, sigma: float, xy: Floats) -> Floats:
    """The best guess at the counts behind a noisy matrix: the mean of `posterior`, not below zero."""
    return np.maximum(posterior(noisy, sigma, xy).mean, 0.0)


def posterior(noisy: Floats, sigma: float, xy: Floats) -> Posterior:
    """Bayes' estimate of X from noisy = X + N(0, sigma²), with a covariance that is half public and half learned.

    What is assumed and how the rest is learned is said in `kronecker.py`.

    noisy: shape (towers, hours from Monday 00:00). xy: positions of the towers, distinct.
    """
    _check(noisy, sigma)
    near = nearness(xy)
    if sigma == 0:
        return _unfiltered(noisy.copy(), sigma, near)
    if noisy.mean() <= 0:  # not even the city as a whole rises above the noise
        return _unfiltered(np.zeros_like(noisy), sigma, near)
    size = _sizes(noisy, sigma)
    known = learn(noisy, sigma, size, modes(size, near), smooth=False)
    return Posterior(known.mean, known.towers, known.hours, known.variance, known.common)


def _sizes(noisy: Floats, sigma: float) -> Floats:
    """How large each tower is, 1 on average: its row matched with the mean row, drawn to 1 by what is noise.

    The matched filter s_i = <Y_i, m> / <m, m> has noise sigma²/<m, m>; the rest of its variance is between towers.
    """
    rhythm = noisy.mean(axis=0)
    power = rhythm @ rhythm
    raw = noisy @ rhythm / power
    between = raw.var()
    share = max(0.0, 1.0 - sigma**2 / power / between) if between > 0 else 0.0
    return np.asarray(1.0 + share * (raw - 1.0))


def _unfiltered(mean: Floats, sigma: float, near: BlockDiagonal) -> Posterior:
    """A mean whose errors are the noise itself."""
    known = nothing(mean.shape, sigma, near)
    return Posterior(mean, known.towers, known.hours, known.variance, known.common)


def _check(noisy: Floats, sigma: float) -> None:
    if noisy.ndim != 2 or 0 in noisy.shape or not np.isfinite(noisy).all():
        raise ValueError(f"noisy must be a finite matrix of towers by hours, got shape {noisy.shape}")
    if not (math.isfinite(sigma) and sigma >= 0):
        raise ValueError(f"sigma must be finite and zero or more, got sigma={sigma}")
