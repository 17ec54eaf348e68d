"""By how much the size of each tower is off in a filtered matrix, told by totals that were measured beside it.

Weights count a busy user's visit for less, so towers where busy users are seen come out too small; the filter adds an
error of its own. Totals of the week per tower are measured with a far milder weight. Their ratio to the totals of the
filtered matrix says what to multiply each tower by, but it is noisy, so it is drawn to one by as much as it is noise:

    y_i = B_i / E_i − 1 = r_i + e_i + n_i        B measured, E filtered, both as shares of the city

    r  the bias of weights       N(0, own²·I + shared²·exp(−d / 1 km) + common²): near towers have similar people
    e  the error of the filter   N(0, error of E_i / E_i)
    n  the noise of the totals   N(0, error of B_i / E_i)

Tower i is multiplied by 1 + E[r_i + e_i | y]: both are wrong with it, whichever it is. `own` and `shared` are those of
a small grid that make y most likely. All of it is post-processing of noisy numbers and public geography.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.spatial.distance import cdist

from density_assets.estimation.blocks import Positions, neighbours

Floats = NDArray[np.float64]

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
