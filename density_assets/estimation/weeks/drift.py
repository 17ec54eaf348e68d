"""How far a week may be from what the past says, beyond the error of the past itself.

Two things move a week. People are counted anew, which scatters every tower by itself, at least by half of Poisson's
variance (weights make it less than Poisson's, people who are seen many times more). And places change, as deviations
do: a part theta of their variance. Both are chosen by likelihood, for hours' components from the most to the least
varying in bands, because slow changes are larger than fast ones. What earlier weeks said is kept as a table of
log-likelihoods.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BANDS = (1, 3, 8, 20, 60)  # ranks of components of hours at which a new band begins
SCATTER = np.array([0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0])  # times Poisson's variance
CHANGE = np.array([0.0, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3])  # of the variance of deviations


def no_evidence() -> Floats:
    """Before the first week."""
    return np.zeros((len(BANDS) + 1, len(SCATTER), len(CHANGE)))


def normal_log_likelihood(squares: Floats, variance: Floats) -> Floats:
    """Of zero-mean normal values with these squares, but for a constant."""
    return np.asarray(-0.5 * (np.log(variance) + squares / variance))


def bands(values: Floats) -> NDArray[np.int64]:
    """The band of each component of hours, by the rank of its variance."""
    rank = np.argsort(np.argsort(-values))
    return np.asarray(np.searchsorted(BANDS, rank, side="right"))


def evidence(innovation: Floats, known: Floats, poisson: Floats, deviation: Floats, values: Floats) -> Floats:
    """Log-likelihood of a week's innovations for every band, scatter and change.

    innovation: along towers' and hours' components. known: its variance by noise and by the error of the past.
    poisson: variance of scatter of each component of towers. deviation: variance of deviations.
    """
    squares, band, table = innovation**2, bands(values), no_evidence()
    for number, scatter, change in np.ndindex(table.shape):
        of_band = band == number
        variance = known[:, of_band] + SCATTER[scatter] * poisson[:, None] + CHANGE[change] * deviation[:, of_band]
        table[number, scatter, change] = normal_log_likelihood(squares[:, of_band], variance).sum()
    return table


def likeliest(table: Floats, poisson: Floats, deviation: Floats, values: Floats) -> Floats:
    """The variance of a week's own change that a table of evidence finds most likely."""
    best = table.reshape(len(table), -1).argmax(axis=1)
    scatter, change = np.unravel_index(best, table.shape[1:])
    band = bands(values)
    return np.asarray(SCATTER[scatter][band] * poisson[:, None] + CHANGE[change][band] * deviation)
