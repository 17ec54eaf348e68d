"""Does a sample look like the noise an event claims? Used by the tests, and by the tests of the tests.

Three questions, each with a bound on false alarms that holds for every sample size, so that none rests on a limit:

scale    The mean of a statistic (x², |x|, the score of what was chosen) against its expectation, by Cramér: the mean
         of n values is as far out as t with probability at most 2·exp(−n·I(t)), I the Legendre transform of the log of
         the moment generating function. For Gaussian and Laplace noise this is the likelihood ratio of the scale.
shape    Frequencies in bins against their probabilities: n·KL(seen‖expected) passes t with probability at most
         exp(−t)·(e·t/(k−1))^(k−1) for k bins (Agrawal 2020, "Finite-sample concentration of the multinomial").
sharing  Correlations of any two rows or columns, once noise is brought to a normal by its own distribution; exact by
         Student's t, times the number of pairs.

FALSE_ALARM is that of one question. A run of all tests asks fewer than 200 of noise that is not seeded, so a correct
sampler fails in less than 2e-7 of runs. A scale that is 5 % too small or too large is missed with these probabilities
(`test_noise.py` computes them again):

    Gaussian             25,000 values     4.8e-7    5.5e-6
    discrete Gaussian    25,000 values     3.4e-7    7.1e-6    (sigma of 2 and more; less below)
    Laplace              50,000 values     4.5e-7    5.9e-6
    selection            10,000 rows       2.1e-10   9.6e-9
"""

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import logsumexp
from scipy.stats import laplace, norm, t

from density_assets.privacy.events import Event, Gaussian, Laplace, LaplaceVector, Selection

FALSE_ALARM = 1e-9
GAUSSIAN_SAMPLE, LAPLACE_SAMPLE, SELECTION_SAMPLE = 25_000, 50_000, 10_000
BINS = 20
MOST_REPEATS = 1  # two doubles of a sample coincide by chance once in twenty million samples, twice two never


def fits(sample: np.ndarray, event: Event) -> bool:
    """Whether continuous noise has the scale and the shape of the event, and no value is used twice."""
    flat = np.asarray(sample, dtype=float).reshape(-1)
    bins = np.minimum((BINS * _distribution(event).cdf(flat)).astype(int), BINS - 1)
    shape = _frequencies_fit(np.bincount(bins, minlength=BINS), np.full(BINS, 1 / BINS))
    return evidence(flat, event) < math.log(2 / FALSE_ALARM) and shape and not repeats(flat)


def fits_discrete(sample: np.ndarray, event: Gaussian) -> bool:
    """Whether integer noise has the scale and the probabilities of the discrete Gaussian."""
    flat = np.asarray(sample).reshape(-1)
    support, chances = discrete_gaussian(event.sigma)
    if np.abs(flat).max() > support[-1]:  # twelve sigma away: hardly ever
        return False
    far = finite_rate(float((flat.astype(float) ** 2).mean()), support.astype(float) ** 2, np.log(chances))
    last = np.unique(np.searchsorted(np.cumsum(chances), np.arange(1, BINS) / BINS))  # of each bin but the last
    bins = np.searchsorted(last, np.arange(len(support)))
    seen = np.bincount(bins, np.bincount(flat + support[-1], minlength=len(support)))
    shape = _frequencies_fit(seen, np.bincount(bins, chances))
    return len(flat) * far < math.log(2 / FALSE_ALARM) and shape


def fits_selection(chosen: np.ndarray, scores: np.ndarray, event: Selection) -> bool:
    """Whether columns are chosen with probabilities in proportion to exp(−ε·u/(2Δ)), one row of scores u for all."""
    exponents = -event.epsilon * scores / (2 * event.sensitivity)
    log_chances = exponents - logsumexp(exponents)
    far = finite_rate(float(scores[chosen].mean()), scores, log_chances)
    shape = _frequencies_fit(np.bincount(chosen, minlength=len(scores)), np.exp(log_chances))
    return len(chosen) * far < math.log(2 / FALSE_ALARM) and shape


def evidence(flat: np.ndarray, event: Event) -> float:
    """How much the sample speaks for another scale than the event's, in nats: n·I of the mean of x² or |x|."""
    if isinstance(event, Gaussian):
        return len(flat) * gaussian_rate(float((flat**2).mean()) / event.sigma**2)
    assert isinstance(event, Laplace | LaplaceVector)
    return len(flat) * laplace_rate(float(np.abs(flat).mean()) / event.scale)


def gaussian_rate(ratio: float) -> float:
    """I of the mean of x², in units of sigma²; infinite where there is no noise at all."""
    return (ratio - 1 - math.log(ratio)) / 2 if ratio > 0 else math.inf


def laplace_rate(ratio: float) -> float:
    """I of the mean of |x|, in units of the scale."""
    return ratio - 1 - math.log(ratio) if ratio > 0 else math.inf


def repeats(sample: np.ndarray) -> bool:
    """Whether noise was drawn once and used twice: continuous values hardly ever coincide by chance."""
    flat = np.asarray(sample, dtype=float).reshape(-1)
    return len(flat) - len(np.unique(flat)) > MOST_REPEATS


def shared(sample: np.ndarray, event: Event) -> bool:
    """Whether two rows or two columns of noise go together: the same noise, its negative, or one mixed into another."""
    scores = norm.ppf(np.clip(_distribution(event).cdf(sample), 1e-300, 1 - 1e-16))
    return _go_together(scores) or _go_together(scores.T)


def discrete_gaussian(sigma: float) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers up to twelve sigma, and their probabilities."""
    reach = math.ceil(12 * sigma) + 1
    support = np.arange(-reach, reach + 1)
    weight = np.exp(-(support.astype(float) ** 2) / (2 * sigma**2))
    return support, weight / weight.sum()


def _distribution(event: Event):
    assert isinstance(event, Gaussian | Laplace | LaplaceVector)
    return norm(0, event.sigma) if isinstance(event, Gaussian) else laplace(0, event.scale)


def finite_rate(mean: float, statistic: np.ndarray, log_chances: np.ndarray) -> float:
    """I(mean) = max over λ of λ·mean − log E exp(λ·statistic), for a statistic of finitely many values."""
    if not statistic.min() < mean < statistic.max():
        return math.inf

    def negative(slope: float) -> float:
        return float(logsumexp(log_chances + slope * statistic)) - slope * mean

    reach = 50 / np.ptp(statistic[log_chances > -50])
    return -float(minimize_scalar(negative, bounds=(-reach, reach), method="bounded", options={"xatol": 1e-9}).fun)


def _frequencies_fit(seen: np.ndarray, chances: np.ndarray) -> bool:
    """Whether frequencies are no further from their probabilities than chance allows."""
    if (seen[chances == 0] > 0).any():
        return False
    present = seen > 0
    far = float((seen[present] * np.log(seen[present] / (seen.sum() * chances[present]))).sum())
    return far < most_far(len(chances))


def most_far(bins: int, false_alarm: float = FALSE_ALARM) -> float:
    """The t at which exp(−t)·(e·t/(k−1))^(k−1) is the false alarm."""
    free = bins - 1

    def excess(far: float) -> float:
        return -far + free * (1 + math.log(far / free)) - math.log(false_alarm)

    return float(brentq(excess, free, 1_000 + 10 * free))


def _go_together(scores: np.ndarray) -> bool:
    rows, length = scores.shape
    if rows < 2 or length < 3:
        return False
    strongest = np.abs(np.corrcoef(scores)[np.triu_indices(rows, 1)]).max()
    if strongest >= 1 - 1e-9:
        return True
    student = strongest * math.sqrt((length - 2) / (1 - strongest**2))
    return bool(2 * t.sf(student, length - 2) * rows * (rows - 1) / 2 < FALSE_ALARM)


def accepted(rate: Callable[[float], float], n: int, least: float, expected: float, most: float) -> tuple[float, float]:
    """The means, between `least` and `most`, that the statistic of n values may have for its scale to pass."""
    limit = math.log(2 / FALSE_ALARM) / n
    low = brentq(lambda mean: rate(mean) - limit, least, expected)
    return float(low), float(brentq(lambda mean: rate(mean) - limit, expected, most))
