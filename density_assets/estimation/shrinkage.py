"""Denoising a noisy matrix of towers by hours, from the noisy values, the public sigma and public geography.

All of it is post-processing: it reads what a mechanism released, so it spends no privacy and its choices need no
proof. What each part gained, and what was tried and left out, is in `docs/lowrank.md`.

`shrink` knows nothing but sigma. `posterior` also knows that towers near each other live in similar rhythms and that
days resemble days, and learns the rest: it is what a release uses.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

Floats = NDArray[np.float64]

# Chosen on one draw of one synthetic city and checked on another: halve or double any and the error moves by 2 %.
REACH = 5.0  # deviations of rhythm fade over so many distances to the nearest tower
OWN = 0.5  # variance of a tower's own deviation, relative to what it shares with its neighbours
FADING_HOURS = 10.0  # deviations fade over so many hours of the day
ANY_DAY, SAME_KIND, SAME_DAY = 0.3, 0.5, 0.2  # parts of a deviation on all days, on (non-)working days, on one day
DEVIATION = 0.3  # relative variance of rhythm that learning starts from
PRIOR_TOWERS = 100  # the public covariance of hours counts as much as so many towers
ROUNDS = 30
TINY = 1e-9  # of the largest eigenvalue: rounding may leave the smallest ones negative
SMALLEST = 0.05  # of the mean: sizes and hours below are raised to it where they scale a variance


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
    kept = values / unit > 1 + math.sqrt(beta)
    y = values[kept] / unit
    shrunk = unit * np.sqrt((y**2 - beta - 1) ** 2 - 4 * beta) / y
    return np.asarray((left[:, kept] * shrunk) @ right[kept])


@dataclass(frozen=True)
class Posterior:
    """What is known of the signal once the noisy matrix was seen.

    mean: the expected signal, shape (towers, hours); it may dip below zero.
    towers, hours: orthonormal columns along which errors are independent.
    variance: of those errors, shape (towers, hours).
    common: standard deviations, along the same columns, of the error that all towers share with the city's rhythm.
    """

    mean: Floats
    towers: Floats
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
        along_towers = self.towers if mapping is None else np.asarray(mapping @ self.towers)
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

    X_it = s_i · (m_t + h_it): tower i has a size s_i and the city's rhythm m but for a deviation h, whose covariance
    is K over towers (public: `_nearness`) times B over hours (learned, around a public guess). In the basis that
    diagonalises both, Bayes' estimate multiplies each coefficient by signal / (signal + sigma²): Wiener's filter.

    m and B, under an inverse-Wishart prior around the guess, are those that make what was seen most likely, by
    `ROUNDS` steps of expectation-maximisation (Dempster, Laird & Rubin 1977).

    noisy: shape (towers, hours from Monday 00:00). xy: positions of the towers, distinct.
    """
    _check(noisy, sigma)
    if sigma == 0:
        return _unfiltered(noisy.copy(), sigma)
    if noisy.mean() <= 0:  # not even the city as a whole rises above the noise
        return _unfiltered(np.zeros_like(noisy), sigma)
    size = _sizes(noisy, sigma)
    spread = np.maximum(size, SMALLEST)
    eigenvalues, basis = np.linalg.eigh(spread[:, None] * _nearness(xy) * spread)
    scale = np.maximum(eigenvalues, TINY * eigenvalues[-1])
    return _learn(basis, basis.T @ noisy, basis.T @ size, scale, sigma)


def _learn(basis: Floats, seen: Floats, size: Floats, scale: Floats, sigma: float) -> Posterior:
    """Expectation-maximisation on rows j of `seen`, independent and N(size_j · m, scale_j · B + sigma²)."""
    rhythm = size @ seen / (size @ size)
    rhythm = np.maximum(rhythm, SMALLEST * abs(rhythm.mean()))
    guess = rhythm[:, None] * _likeness(len(rhythm)) * rhythm
    covariance = DEVIATION * guess
    for _ in range(ROUNDS):
        values, hours = np.linalg.eigh(covariance)
        signal = scale[:, None] * np.maximum(values, TINY * values[-1])
        mean, deviation, variance, common = _filter(seen @ hours, size, signal, sigma)
        expected = (deviation.T / scale) @ deviation + np.diag((variance.T / scale).sum(axis=1))
        found = hours @ expected @ hours.T
        fitted = np.trace(found) / len(seen) / np.trace(guess) * guess
        covariance = (found + PRIOR_TOWERS * fitted) / (len(seen) + PRIOR_TOWERS)
    return Posterior(basis @ (mean + deviation) @ hours.T, basis, hours, variance, common)


def _filter(seen: Floats, size: Floats, signal: Floats, sigma: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Wiener's filter where all is diagonal: mean, deviations, their variance and the error of the mean."""
    total = signal + sigma**2
    precision = (size**2 / total.T).sum(axis=1)
    rhythm = (size / total.T * seen.T).sum(axis=1) / precision  # generalised least squares
    mean = np.outer(size, rhythm)
    noise = sigma**2 / total
    return mean, (1 - noise) * (seen - mean), noise * signal, size[:, None] * noise / np.sqrt(precision)


def _sizes(noisy: Floats, sigma: float) -> Floats:
    """How large each tower is, 1 on average: its row matched with the mean row, drawn to 1 by what is noise.

    The matched filter s_i = <Y_i, m> / <m, m> has noise sigma²/<m, m>; the rest of its variance is between towers.
    """
    rhythm = noisy.mean(axis=0)
    power = rhythm @ rhythm
    raw = noisy @ rhythm / power
    between = raw.var()
    kept = max(0.0, 1.0 - sigma**2 / power / between) if between > 0 else 0.0
    return np.asarray(1.0 + kept * (raw - 1.0))


def _nearness(xy: Floats) -> Floats:
    """Public correlation of towers' deviations: exponential in distance, plus what is a tower's own."""
    if len(xy) == 1:
        return np.array([[1.0 + OWN]])
    spacing = float(np.median(np.asarray(cKDTree(xy).query(xy, k=2)[0])[:, 1]))
    return np.asarray(np.exp(-cdist(xy, xy) / (REACH * spacing)) + OWN * np.eye(len(xy)))


def _likeness(hours: int) -> Floats:
    """Public correlation of hours' deviations: near in time of day, the more so on alike days."""
    of_day, day = np.arange(hours) % 24, np.arange(hours) // 24
    working = day % 7 < 5
    apart = np.abs(of_day[:, None] - of_day)
    apart = np.minimum(apart, 24 - apart)
    alike = ANY_DAY + SAME_KIND * (working[:, None] == working) + SAME_DAY * (day[:, None] == day)
    return np.asarray(np.exp(-apart / FADING_HOURS) * alike)


def _unfiltered(mean: Floats, sigma: float) -> Posterior:
    """A mean whose errors are the noise itself."""
    towers, hours = mean.shape
    return Posterior(mean, np.eye(towers), np.eye(hours), np.full(mean.shape, sigma**2), np.zeros(mean.shape))


def _check(noisy: Floats, sigma: float) -> None:
    if noisy.ndim != 2 or 0 in noisy.shape or not np.isfinite(noisy).all():
        raise ValueError(f"noisy must be a finite matrix of towers by hours, got shape {noisy.shape}")
    if not (math.isfinite(sigma) and sigma >= 0):
        raise ValueError(f"sigma must be finite and zero or more, got sigma={sigma}")
