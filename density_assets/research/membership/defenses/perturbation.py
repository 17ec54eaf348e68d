"""Perturbation: noise on small counts (PSC) or on Fourier coefficients (FPA). Pyrgelis et al., §4.2.3, app. A."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[Any]


def perturb_small(counts: Counts, below: float, epsilon: float, rng: np.random.Generator) -> Counts:
    """Laplace noise of scale 1/epsilon on counts below a threshold, negative results to 0 (PSC).

    Clipped, as the published errors have it: with noise of mean size 10 they are those of the constant 5.
    """
    noise = rng.laplace(0.0, 1.0 / epsilon, counts.shape)
    return np.where(counts < below, np.maximum(counts + noise, 0.0), counts).astype(np.float32)


def perturb_fourier(
    counts: Counts, epsilon: float, norm: float, coefficients: int, most: float, rng: np.random.Generator
) -> Counts:
    """The first Fourier coefficients of each series with Laplace noise, the others dropped (FPA).

    norm: L2 norm of one user's part of all series. most: results are clipped to 0 … most, the size of the group.

    Guarantees: none that we would sign. The noise is sqrt(coefficients)·norm/epsilon on the real and the imaginary
    part of numpy's unnormalised transform, which is the size of the published errors; a proof would need sqrt(slots)
    times that, because that transform lengthens vectors so much (Rastogi & Nath 2010 have an orthonormal one), and a
    norm that is not read off the data. The schemes of this software are what a release should use.
    """
    slots = counts.shape[-1]
    spectrum = np.fft.rfft(counts, axis=-1)
    kept = min(coefficients, spectrum.shape[-1])
    scale = np.sqrt(kept) * norm / epsilon
    shape = (*counts.shape[:-1], kept)
    spectrum[..., :kept] += rng.laplace(0.0, scale, shape) + 1j * rng.laplace(0.0, scale, shape)
    spectrum[..., kept:] = 0.0
    return np.clip(np.fft.irfft(spectrum, n=slots, axis=-1), 0.0, most).astype(np.float32)
