"""Series as cosine waves: what is lost when only the slowest are kept (Acs & Castelluccia 2014, §5.3.2).

The transform is orthonormal, so series and coefficients have the same L2 norm: sensitivities and errors computed on
one hold for the other.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct, idct

from density_assets.errors import some

Floats = NDArray[np.float64]


def coefficients(series: Floats) -> Floats:
    """The orthonormal DCT-II of each row, slowest wave first."""
    return np.asarray(dct(series, type=2, norm="ortho", axis=-1), dtype=np.float64)


def series_from(coefficients: Floats) -> Floats:
    """The series that has these coefficients: the inverse of `coefficients`."""
    return np.asarray(idct(coefficients, type=2, norm="ortho", axis=-1), dtype=np.float64)


def tail_norms(coefficients: Floats) -> Floats:
    """The L2 norm of what is left out when the first k are kept; column k-1 is that of k = 1..hours.

    sqrt(Σ_{i>k} F_i²)    (Acs & Castelluccia 2014, Alg. 4, line 2)
    """
    # Summed from the end: a tail taken as the total minus the head would drown in the rounding of the largest F.
    from_here = np.cumsum(np.square(coefficients[..., ::-1]), axis=-1)[..., ::-1]
    tails = np.zeros_like(from_here)
    tails[..., :-1] = np.sqrt(from_here[..., 1:])
    return tails


def keep_first(coefficients: Floats, k: NDArray[np.int64]) -> Floats:
    """The first k of each row, zeros instead of the rest.

    k: one number per row.
    """
    rows, hours = coefficients.shape
    outside = k[(k < 1) | (k > hours)]
    if k.shape != (rows,) or len(outside) > 0:
        raise ValueError(
            f"k must be {rows} numbers from 1 to {hours}, got {len(k)}, of which {len(outside)} are outside "
            f"({some(outside) or 'none'}); choose one k per row"
        )
    return np.where(np.arange(hours) < k[:, None], coefficients, 0.0)
