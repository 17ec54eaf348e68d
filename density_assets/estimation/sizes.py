"""How large each tower is, told from noise by what geography says of it: sizes are the first thing a small city loses.

    s = 1 + β · crowding + u,    u ~ N(0, v · near),    β ~ N(0, SLOPE)

Near towers are alike, and where towers stand close to each other each may serve more people, or fewer: the sign is the
city's own. v is the one of a grid that makes what was seen most likely. In a city that drowns in noise every tower is
as large as the others. Post-processing of noisy numbers and public geography.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from density_assets.estimation.blocks import BlockDiagonal
from density_assets.estimation.kronecker import Modes, modes
from density_assets.estimation.rhythm import smooth_rhythm
from density_assets.estimation.tower_ratio import Totals

Floats = NDArray[np.float64]

NEIGHBOURS = 6  # towers among which the distance is taken
WEIGHED = 0.05  # what weights make of a size, relative to it
SLOPE = 0.1  # prior variance of β
VARIANCES = 10.0 ** np.arange(-4.0, 1.1, 0.25)  # v


@dataclass(frozen=True)
class Ground:
    """What is public of the towers.

    near: correlation of their deviations. along: directions in which it has none, were all towers of one size.
    crowding: how close they stand, 0 on average with variance 1.
    """

    near: BlockDiagonal
    along: Modes
    crowding: Floats

    @classmethod
    def of(cls, xy: Floats, near: BlockDiagonal) -> "Ground":
        """Of towers at distinct positions, with the correlation of `nearness`."""
        return cls(near, modes(np.ones(len(xy)), near), _crowding(xy))


def sizes(noisy: Floats, sigma: float, ground: Ground, totals: Totals | None = None) -> Floats:
    """The size of each tower, 1 on average, by the prior above.

    Two things are seen of it: its row matched with the city's rhythm, s_i = <Y_i, m> / <m, m> with noise sigma²/<m, m>,
    and its total, where totals were measured and the city rises above their noise.
    """
    rhythm = smooth_rhythm(noisy.mean(axis=0), sigma**2 / len(noisy))
    power = float(rhythm @ rhythm)
    matched = noisy @ rhythm / power
    seen, noise = matched / matched.mean(), sigma**2 / power
    if totals is not None and totals.clear:
        seen, noise = _both(seen, noise, totals)
    along = ground.along
    along_seen, crowding = along.towers.T @ (seen - 1.0), along.towers.T @ ground.crowding
    fits = [_Fit.of(along_seen, crowding, v * along.scale, noise) for v in VARIANCES]
    best = max(fits, key=lambda fit: fit.likelihood)
    return np.asarray(1.0 + along.towers @ best.mean)


def _both(matched: Floats, noise: float, totals: Totals) -> tuple[Floats, float]:
    """The mean of both by precision, and its noise."""
    city = totals.visits.mean()
    of_totals = float((totals.error**2).mean() / city**2) + WEIGHED**2
    share = noise / (noise + of_totals)
    return (1 - share) * matched + share * totals.visits / city, share * of_totals


@dataclass(frozen=True)
class _Fit:
    """Sizes under one v, along the directions in which they are independent."""

    mean: Floats
    likelihood: float

    @classmethod
    def of(cls, seen: Floats, crowding: Floats, signal: Floats, noise: float) -> "_Fit":
        total = signal + noise
        slope = (crowding / total @ seen) / (crowding / total @ crowding + 1 / SLOPE)
        rest = seen - slope * crowding
        likelihood = -0.5 * (np.log(total) + rest**2 / total).sum() - 0.5 * slope**2 / SLOPE
        return cls(slope * crowding + signal / total * rest, float(likelihood))


def _crowding(xy: Floats) -> Floats:
    """Minus the logarithm of the mean distance to the nearest towers, standardised; zero where all stand alike."""
    if len(xy) == 1:
        return np.zeros(1)
    distances = np.asarray(cKDTree(xy).query(xy, k=min(NEIGHBOURS + 1, len(xy)))[0])[:, 1:]
    close = -np.log(distances.mean(axis=1))
    close -= close.mean()
    return np.asarray(close / max(float(close.std()), 1e-9))
