"""Reconstruction from n chosen counts of n = 2^k bits: the rows of a Hadamard matrix (Dwork & Yekhanin 2008).

H has entries ±1, H = Hᵀ and H·H = n·I. A count covers a subset, so row j is asked as the count of the bits where
H_ji = +1, and row 0 is the count of everything. With c = counts, (H x)_j = 2·c_j − c_0 =: a_j. Then z = H·a/n is x
where counts are exact, computed in n·log n steps.

**At most 4‖e‖²/n bits are wrong**, with e the errors of a. z − x = H·e/n, and ‖H·e‖² = n·‖e‖², so Σ (z_i − x_i)² =
‖e‖²/n. A bit that rounding at ½ gets wrong has (z_i − x_i)² ≥ ¼, so there are at most 4‖e‖²/n of them.

With errors d of the counts, e = 2d − d_0. The common part −d_0 lands on bit 0 alone, as H·1 = n·(1, 0, …, 0): at most
1 + 16‖d‖²/n bits are wrong, at most 1 + 16·E² if each count is wrong by at most E. Independent noise of standard
deviation s leaves 2·s/√n on each z_i. So the noise that matters is s/√n; 95 % of bits are right up to 0.152, three
quarters up to 0.37, and a coin at ∞.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from density_assets.errors import BadInput
from density_assets.privacy.calibration import calibrate, gaussian_sigma
from density_assets.privacy.events import Gaussian
from density_assets.research.queries.query import Bools, Ints
from density_assets.research.queries.reconstruction import (
    least_absolute_errors,
    random_subsets,
    rounded,
    share_right,
)

Floats = NDArray[np.float64]
Attack = Callable[[Ints, float, int], float]

PER_BIT = 4  # random queries per bit of the linear program


def walsh_hadamard(values: Floats | Ints) -> Floats:
    """H times values, for a power of two of them, by the fast transform."""
    count = len(values)
    if count < 1 or count & (count - 1):
        raise BadInput(f"a Hadamard matrix of this kind has a power of two rows, got {count} values: pad the data")
    result, half = np.array(values, float), 1
    while half < count:
        pairs = result.reshape(-1, 2, half)
        result = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        half *= 2
    return result


def hadamard_subsets(bits: int) -> Bools:
    """The n counts to ask: bit i is in query j if i and j have an even number of common binary ones."""
    rows = np.array([walsh_hadamard(unit) for unit in np.eye(bits)])
    return np.asarray(rows > 0)


def bits_from_counts(counts: Floats) -> Ints:
    """The bits, from the (noisy) counts of all subsets of `hadamard_subsets`."""
    signed = 2 * np.asarray(counts, float) - counts[0]
    return rounded(walsh_hadamard(signed) / len(counts))


def hadamard_attack(data: Ints, noise: float, seed: int) -> float:
    """The share of bits recovered from n Hadamard counts with Gaussian noise of this standard deviation."""
    exact = (walsh_hadamard(data) + data.sum()) / 2
    return share_right(bits_from_counts(exact + np.random.default_rng(seed).normal(0, noise, len(data))), data)


def program_attack(data: Ints, noise: float, seed: int) -> float:
    """The share of bits recovered by the linear program from 4n random counts with such noise."""
    rows = random_subsets(len(data), PER_BIT * len(data), seed)
    counts = rows @ data + np.random.default_rng([seed, 1]).normal(0, noise, len(rows))
    return share_right(rounded(least_absolute_errors(rows, counts)), data)


def recovery_curve(attack: Attack, data: Ints, ratios: Sequence[float], seed: int) -> Floats:
    """The share of bits an attack recovers where noise is `ratio`·√n."""
    return np.array([attack(data, ratio * np.sqrt(len(data)), seed) for ratio in ratios])


def private_ratio(epsilon: float, delta: float) -> float:
    """The noise/√n of Hadamard counts that keep one bit per user (epsilon, delta)-private: where our own noise lies.

    Bit 0 is in all n counts and others are in half of them, so one user moves all counts together by √n in L2.
    """
    events = calibrate(lambda rho: [Gaussian("counts", gaussian_sigma(rho, 1.0), 1.0)], epsilon, delta)
    return sum(event.standard_deviation or 0.0 for event in events)


def knee(ratios: Sequence[float], shares: Sequence[float] | Floats, level: float = 0.95) -> float:
    """The noise/√n at which the share of recovered bits first falls below a level, between measured points.

    Infinite if it never does, 0 if it is below from the start.
    """
    values = np.asarray(shares, float)
    below = np.flatnonzero(values < level)
    if not below.size:
        return float("inf")
    if not (last := int(below[0])):
        return 0.0
    x, y = np.asarray(ratios, float)[last - 1 : last + 1], values[last - 1 : last + 1]
    return float(x[0] + (y[0] - level) / (y[0] - y[1]) * (x[1] - x[0]))
