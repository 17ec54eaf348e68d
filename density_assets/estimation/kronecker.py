"""Filters of towers by hours, and the blocks of neighbouring towers they are computed in.

Towers cut into blocks of neighbours, and matrices over towers that know nothing across blocks.

Dense matrices of towers by towers take memory with the square and time with the cube of their number. Towers far apart
hardly speak of each other, so a large city is cut into compact blocks that are independent of each other, and time and
memory grow with the number of blocks. A city of one block is as it would be without.

Wiener's filter of a matrix of towers by hours whose signal has a Kronecker covariance: K over towers, B over hours.

    X_it = s_i · (m_t + h_it),    cov(s_i h_it, s_j h_ju) = s_i K_ij s_j · B_tu

Tower i has a size s_i and the city's rhythm m but for a deviation h. K is public (`nearness`); B is learned from noisy
values around a public guess (`likeness`). In the basis that diagonalises both, Bayes' estimate multiplies every
coefficient by signal / (signal + noise).

All of it is post-processing: it reads what a mechanism released and public geography.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from density_assets.estimation.rhythm import posterior_rhythm, rhythm_prior
from density_assets.series import Floats

Positions = NDArray[np.int64]
Sparse = csr_array[np.float64, tuple[int, int]]
Areas = Floats | Sparse

AT_ONCE = 1_500  # rows over all towers that are dense at a time: 240 MB for 20,000 towers


def neighbours(towers: Positions, xy: Floats, most: int) -> Iterator[Positions]:
    """The towers, halved across their longer side until no part has more than `most`."""
    if not len(towers):
        return
    if len(towers) <= most:
        yield towers
        return
    longer = int(np.argmax(np.ptp(xy[towers], axis=0)))
    ordered = towers[np.argsort(xy[towers, longer], kind="stable")]
    for half in np.array_split(ordered, 2):
        yield from neighbours(half, xy, most)


def some_rows(areas: Sparse) -> Iterator[Sparse]:
    """Rows over towers, some at a time: what is dense may be too large for all of them together."""
    for first in range(0, areas.shape[0], AT_ONCE):
        yield areas[first : first + AT_ONCE]


@dataclass(frozen=True)
class Block:
    """A square matrix over some towers. towers: their positions, all of them if it is a slice."""

    towers: Positions | slice
    matrix: Floats


@dataclass(frozen=True)
class BlockDiagonal:
    """A square matrix over all towers that is zero between blocks. It is used as a dense one: `T`, `**`, `@`."""

    blocks: tuple[Block, ...]
    __array_ufunc__: ClassVar[None] = None  # so that numpy leaves areas @ matrix to this class

    @property
    def T(self) -> "BlockDiagonal":  # noqa: N802  # as numpy calls it
        """Transposed."""
        return self.each(lambda block: block.matrix.T)

    def __pow__(self, power: int) -> "BlockDiagonal":
        """Every entry to a power."""
        return self.each(lambda block: block.matrix**power)

    def each(self, change: Callable[[Block], Floats]) -> "BlockDiagonal":
        """The same blocks with other matrices."""
        return BlockDiagonal(tuple(Block(block.towers, change(block)) for block in self.blocks))

    def __matmul__(self, columns: Floats) -> Floats:
        """The product with values of all towers, one column or several."""
        product = np.empty(columns.shape)
        for block in self.blocks:
            product[block.towers] = block.matrix @ columns[block.towers]
        return product

    def __rmatmul__(self, areas: Areas) -> Floats:
        """The product of rows over all towers with this matrix."""
        if len(self.blocks) == 1:
            return np.asarray(areas @ self.blocks[0].matrix)
        product = np.zeros(areas.shape)
        for rows, towers, part in self.parts(areas):
            product[np.ix_(np.asarray(rows), np.asarray(towers))] = part
        return product

    def parts(self, areas: Areas) -> Iterator[tuple[Positions | slice, Positions | slice, Floats]]:
        """The same block by block: which rows, which columns, and what is there. Elsewhere it is zero.

        Most areas lie in few blocks, so this is much less than the whole product.
        """
        of_towers = cast(Any, areas)  # stubs know no columns of sparse arrays
        for block in self.blocks:
            part: Any = of_towers[:, block.towers]
            rows: Positions | slice = slice(None)
            if len(self.blocks) > 1:
                rows = np.flatnonzero(np.diff(part.indptr) if isinstance(part, csr_array) else part.any(axis=1))
            yield rows, block.towers, np.asarray(part[rows] @ block.matrix)


# Chosen on one draw of one synthetic city and checked on another: halve or double any and the error moves by 2 %.
REACH = 5.0  # deviations of rhythm fade over so many distances to the nearest tower
OWN = 0.5  # variance of a tower's own deviation, relative to what it shares with its neighbours
FADING_HOURS = 10.0  # deviations fade over so many hours of the day
ANY_DAY, SAME_KIND, SAME_DAY = 0.3, 0.5, 0.2  # parts of a deviation on all days, on (non-)working days, on one day
DEVIATION = 0.3  # relative variance of rhythm that learning starts from
LEVEL_TOWERS = 20  # for errors it counts as much as so many towers
PRIOR_TOWERS = 100  # the public covariance of hours counts as much as so many towers
ROUNDS = 30
TINY = 1e-9  # of the largest eigenvalue: rounding may leave the smallest ones negative
TOGETHER = 1_500  # towers at most whose deviations are filtered as one; a larger city is cut into blocks
BLOCK = 750  # towers of a block at most: twice as many gain less than a thousandth and take four times as long
SMALLEST = 0.05  # of the mean: sizes and hours below are raised to it where they scale a variance


@dataclass(frozen=True)
class Modes:
    """Orthonormal directions over towers along which deviations are independent, and their variances."""

    towers: BlockDiagonal
    scale: Floats


@dataclass(frozen=True)
class Filtered:
    """What is known of the signal once the noisy matrix was seen.

    mean: the expected signal, shape (towers, hours); it may dip below zero.
    towers, hours: orthonormal columns along which errors are independent.
    scale, values: variances of the signal along them: that of column j, k is scale_j · values_k.
    variance: of the errors, shape (towers, hours).
    common: standard deviations, along the same columns, of the error that all towers share with the city's rhythm.
    covariance: B, of the deviations of hours.
    rhythm_error: covariance of the error of the rhythm, along the columns of hours.
    """

    mean: Floats
    towers: BlockDiagonal
    hours: Floats
    scale: Floats
    values: Floats
    variance: Floats
    common: Floats
    covariance: Floats
    rhythm_error: Floats

    def variance_if_more(self, sigma: float) -> Floats:
        """The variance of errors if deviations are larger than the likeliest: drawn to DEVIATION.

        In much noise few towers seem to have none. A filter made for the variance S of a signal leaves, where it is
        S' in truth, S'·(σ²/(S + σ²))² of it.
        """
        rhythm, towers = np.maximum(self.mean, 0.0).mean(axis=0), len(self.scale)
        missing = max(0.0, DEVIATION * float(rhythm @ rhythm) / float(self.values.sum()) - 1.0)
        signal = self.scale[:, None] * self.values
        more = LEVEL_TOWERS / (towers + LEVEL_TOWERS) * missing * signal
        return np.asarray(self.variance + more * (sigma**2 / (signal + sigma**2)) ** 2)


def modes(size: Floats, near: BlockDiagonal) -> Modes:
    """The directions of deviations of towers of these sizes."""
    spread, scale = np.maximum(size, SMALLEST), np.empty(len(size))

    def basis(block: Block) -> Floats:
        of_block = spread[block.towers]
        eigenvalues, vectors = np.linalg.eigh(of_block[:, None] * block.matrix * of_block)
        scale[block.towers] = np.maximum(eigenvalues, TINY * eigenvalues[-1])
        return np.asarray(vectors)

    return Modes(near.each(basis), scale)


def learn(
    noisy: Floats,
    sigma: float,
    size: Floats,
    along: Modes,
    start: Floats | None = None,
    rounds: int = ROUNDS,
    unit: Floats | float = 1.0,
    smooth: bool = True,
) -> Filtered:
    """Bayes' estimate, with the rhythm m and the covariance B that make what was seen most likely.

    B has an inverse-Wishart prior around the public guess and is found by steps of expectation-maximisation
    (Dempster, Laird & Rubin 1977) on the rows of U'Y, independent and N(size_j · m, scale_j · B + sigma²).

    start: the B to begin with. rounds: 0 takes it as it is. unit: what hours were divided by.
    smooth: whether the rhythm has a prior; else it is taken as it is measured.
    """
    basis, scale = along.towers, along.scale
    seen, sizes = basis.T @ noisy, basis.T @ size
    matched, noise = sizes @ seen / (sizes @ sizes), sigma**2 / float(sizes @ sizes)
    prior = rhythm_prior(matched, noise, unit) if smooth else None
    rhythm = matched if prior is None else posterior_rhythm(matched, noise * np.eye(len(prior)), prior)[0]
    rhythm = np.maximum(rhythm, SMALLEST * abs(rhythm.mean()))
    guess = rhythm[:, None] * likeness(len(rhythm)) * rhythm
    covariance = DEVIATION * guess if start is None else start
    for step in range(max(rounds, 1)):
        values, hours = np.linalg.eigh(covariance)
        values = np.maximum(values, TINY * values[-1])
        along_hours = None if prior is None else hours.T @ prior @ hours
        mean, deviation, variance, common, rhythm_error = wiener(
            seen @ hours, sizes, scale[:, None] * values, sigma, along_hours
        )
        if step < rounds:
            expected = (deviation.T / scale) @ deviation + np.diag((variance.T / scale).sum(axis=1))
            found = hours @ expected @ hours.T
            fitted = np.trace(found) / len(seen) / np.trace(guess) * guess
            covariance = (found + PRIOR_TOWERS * fitted) / (len(seen) + PRIOR_TOWERS)
    estimate = basis @ (mean + deviation) @ hours.T
    return Filtered(estimate, basis, hours, scale, values, variance, common, covariance, rhythm_error)


def nothing(shape: tuple[int, ...], sigma: float, near: BlockDiagonal) -> Filtered:
    """No signal, with errors as large as the noise."""
    towers, hours = near.each(lambda block: np.eye(len(block.matrix))), np.eye(shape[1])
    none, noise = np.zeros(shape), np.full(shape, sigma**2)
    flat = np.full(shape[1], sigma**2)
    return Filtered(none, towers, hours, np.ones(shape[0]), flat, noise, none, np.diag(flat), np.diag(flat))


def wiener(
    seen: Floats, size: Floats, signal: Floats, sigma: float, prior: Floats | None
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Wiener's filter where all but the prior of the rhythm is diagonal: mean, deviations and their variance, errors.

    Errors: standard deviations of those that towers share, taken as independent along the columns of hours, and the
    covariance of the rhythm's.
    """
    total = signal + sigma**2
    precision = (size**2 / total.T).sum(axis=1)
    measured = (size / total.T * seen.T).sum(axis=1) / precision  # generalised least squares
    noise_of_rhythm = np.diag(1 / precision)
    rhythm, error = (measured, noise_of_rhythm) if prior is None else posterior_rhythm(measured, noise_of_rhythm, prior)
    mean, noise = np.outer(size, rhythm), sigma**2 / total
    common = size[:, None] * noise * np.sqrt(np.maximum(np.diag(error), 0.0))
    return mean, (1 - noise) * (seen - mean), noise * signal, common, error


def not_negative(series: Floats) -> Floats:
    """A matrix of towers by hours without its negative entries, every hour with the sum it had.

    Dropping them alone would add visits, most of all to hours in which there are few.
    """
    dropped = np.maximum(series, 0.0)
    return np.asarray(dropped * (np.maximum(series.sum(axis=0), 0.0) / np.maximum(dropped.sum(axis=0), TINY)))


def nearness(xy: Floats, together: int = TOGETHER, block: int = BLOCK) -> BlockDiagonal:
    """Public correlation of towers' deviations: exponential in distance, plus what is a tower's own.

    together, block: a city of more towers than `together` is cut into blocks of at most `block`, between which
    deviations are taken as independent.
    """
    if len(xy) == 1:
        return BlockDiagonal((Block(slice(None), np.array([[1.0 + OWN]])),))
    spacing = float(np.median(np.asarray(cKDTree(xy).query(xy, k=2)[0])[:, 1]))

    def among(towers: Positions | slice) -> Block:
        apart = cdist(xy[towers], xy[towers])
        return Block(towers, np.asarray(np.exp(-apart / (REACH * spacing)) + OWN * np.eye(len(apart))))

    parts = [slice(None)] if len(xy) <= together else neighbours(np.arange(len(xy)), xy, block)
    return BlockDiagonal(tuple(among(towers) for towers in parts))


def likeness(hours: int) -> Floats:
    """Public correlation of hours' deviations: near in time of day, the more so on alike days."""
    of_day, day = np.arange(hours) % 24, np.arange(hours) // 24
    working = day % 7 < 5
    apart = np.abs(of_day[:, None] - of_day)
    apart = np.minimum(apart, 24 - apart)
    alike = ANY_DAY + SAME_KIND * (working[:, None] == working) + SAME_DAY * (day[:, None] == day)
    return np.asarray(np.exp(-apart / FADING_HOURS) * alike)
