"""Sizes of towers: what geography says of them, and what totals measured beside the matrix say.

By how much the size of each tower is off in a filtered matrix, told by totals that were measured beside it.

Weights count a busy user's visit for less, so towers where busy users are seen come out too small; the filter adds an
error of its own. Totals of the week per tower are measured with a far milder weight. Their ratio to the totals of the
filtered matrix says what to multiply each tower by, but it is noisy, so it is drawn to one by as much as it is noise:

    y_i = B_i / E_i − 1 = r_i + e_i + n_i        B measured, E filtered, both as shares of the city

    r  the bias of weights       N(0, own²·I + shared²·exp(−d / 1 km) + common²): near towers have similar people
    e  the error of the filter   N(0, error of E_i / E_i)
    n  the noise of the totals   N(0, error of B_i / E_i)

Tower i is multiplied by 1 + E[r_i + e_i | y]: both are wrong with it, whichever it is. `own` and `shared` are those of
a small grid that make y most likely. All of it is post-processing of noisy numbers and public geography.

How large each tower is, told from noise by what geography says of it: sizes are the first thing a small city loses.

    s = 1 + β · crowding + u,    u ~ N(0, v · near),    β ~ N(0, SLOPE)

Near towers are alike, and where towers stand close to each other each may serve more people, or fewer: the sign is the
city's own. v is the one of a grid that makes what was seen most likely. In a city that drowns in noise every tower is
as large as the others. Post-processing of noisy numbers and public geography.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from density_assets.estimation.kronecker import BlockDiagonal, Modes, Positions, modes, neighbours
from density_assets.estimation.rhythm import smooth_rhythm
from density_assets.series import Floats

REACH = 1_000.0  # metres
COMMON = 0.02
OWN, SHARED = (0.0, 0.03, 0.06), (0.0, 0.02, 0.04, 0.08)  # simplest first
CLEARER = 1.0  # of log-likelihood: by so much more variance must explain better
LEAST = 1e-8  # of variance: where noise is next to nothing, covariances must still have an inverse
SIGNAL = 3.0  # standard errors that a total must rise above zero to say anything
# Covariances are dense, so towers are cut into blocks of neighbours, each independent of the others: 6,000 towers take
# seconds, and 20,000 as much memory. Few pairs within a kilometre are cut apart.
BLOCK = 2_000


@dataclass(frozen=True)
class Totals:
    """A number of visits per tower, in any unit, and its standard error."""

    visits: Floats
    error: Floats

    @property
    def shares(self) -> "Totals":
        """The same as shares of the city."""
        return Totals(self.visits / self.visits.sum(), self.error / self.visits.sum())

    @property
    def clear(self) -> bool:
        """Whether the city as a whole rises above the noise."""
        return bool(self.visits.sum() > SIGNAL * np.linalg.norm(self.error))


@dataclass(frozen=True)
class TowerRatio:
    """What to multiply each tower by; error: standard deviation of the bias that remains, relative to the tower."""

    factor: Floats
    error: Floats


def tower_ratio(measured: Totals, filtered: Totals, xy: Floats) -> TowerRatio:
    """The posterior of the ratio between measured and filtered totals.

    A tower that does not rise above the noise keeps its size: its factor is one. No factor is negative.

    xy: positions of the towers in metres.
    """
    count = len(xy)
    if not (measured.clear and filtered.clear):
        return TowerRatio(np.ones(count), np.full(count, COMMON))
    true, seen = measured.shares, filtered.shares
    clear = np.flatnonzero(seen.visits > SIGNAL * seen.error)
    blocks = [_Block.of(part, true, seen, xy) for part in neighbours(clear, xy, BLOCK)]
    own, shared = _likeliest(blocks)
    factor, error = np.ones(count), np.full(count, np.sqrt(own**2 + shared**2 + COMMON**2))
    for block in blocks:
        mean, error[block.towers] = block.posterior(own, shared)
        factor[block.towers] = np.maximum(1.0 + mean, 0.0)
    return TowerRatio(factor, error)


@dataclass(frozen=True)
class _Block:
    """Towers near each other. ratio: y; of_filter, of_totals: variances of e and n."""

    towers: Positions
    xy: Floats
    ratio: Floats
    of_filter: Floats
    of_totals: Floats

    @classmethod
    def of(cls, towers: Positions, measured: Totals, filtered: Totals, xy: Floats) -> "_Block":
        size = filtered.visits[towers]
        errors = ((totals.error[towers] / size) ** 2 for totals in (filtered, measured))
        return cls(towers, xy[towers], measured.visits[towers] / size - 1.0, *errors)

    def prior(self, own: float, shared: float) -> Floats:
        """Covariance of r."""
        covariance = COMMON**2 + shared**2 * np.exp(-cdist(self.xy, self.xy) / REACH)
        np.fill_diagonal(covariance, COMMON**2 + shared**2 + own**2)
        return np.asarray(covariance)

    def likelihood(self, own: float, shared: float) -> float:
        """Logarithm of the probability of y, but for a constant."""
        root = self._root(self.prior(own, shared))
        return float(-np.log(np.diag(root)).sum() - 0.5 * self.ratio @ cho_solve((root, True), self.ratio))

    def posterior(self, own: float, shared: float) -> tuple[Floats, Floats]:
        """Mean of r + e, and standard deviation of r: the filter states the error of e itself."""
        prior = self.prior(own, shared)
        root = self._root(prior)
        weights = cho_solve((root, True), self.ratio)
        explained = (solve_triangular(root, prior, lower=True) ** 2).sum(axis=0)
        mean = prior @ weights + self.of_filter * weights
        return mean, np.sqrt(np.maximum(np.diag(prior) - explained, 0.0))

    def _root(self, prior: Floats) -> Floats:
        return np.asarray(cholesky(prior + np.diag(self.of_filter + self.of_totals + LEAST), lower=True))


def _likeliest(blocks: list[_Block]) -> tuple[float, float]:
    """The variances that make all blocks most likely; a larger one must be clearly better than a smaller one."""
    best, chosen = -np.inf, (0.0, 0.0)
    for own, shared in product(OWN, SHARED):
        likelihood = sum(block.likelihood(own, shared) for block in blocks)
        if likelihood > best + CLEARER:
            best, chosen = likelihood, (own, shared)
    return chosen


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
