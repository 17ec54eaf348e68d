"""What attacks show of a promise of (epsilon, delta), and what it allows them.

An (epsilon, delta)-private mechanism limits every test that tells the week with a user from the week without:

    TPR ≤ e^epsilon FPR + delta    and    TNR ≤ e^epsilon FNR + delta

(Kairouz, Oh & Viswanath 2015, Thm 2.1). Turned around, rates that were seen bound epsilon from below (Jagielski,
Ullman & Oprea 2020). The test is "the score is at least t"; t is chosen on the first half of the runs and the rates are
counted on the second, so that choosing costs no confidence.

An attack with false positives α misses at least f(α) = max(0, 1 − δ − e^ε·α, e^−ε·(1 − δ − α)) of the true ones (Dong,
Roth & Su 2022), so its ROC curve lies below 1 − f(α). The two lines meet at α = (1−δ)/(1+e^ε), and the area over the
largest curve is

    ∫ f = (1−δ)² / (1 + e^ε),    hence    AUC ≤ 1 − (1−δ)² / (1 + e^ε).

Neighbours differ by one person's whole week, added or removed. Groups that are drawn at random around that difference
change nothing: mixtures of neighbours are as close as the neighbours are. Groups of one fixed size, with the victim or
with somebody else instead, differ by two people and may show twice epsilon.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtr, ndtri

from density_assets.series import Floats

Strength = Callable[[Floats, Floats], Floats]  # of upper bounds on the rates of false negatives and false positives

CANDIDATES = 1_000  # thresholds tried on the first half


def upper_rate(events: ArrayLike, runs: int, alpha: float) -> Floats:
    """The largest probability that explains so few events, with confidence 1 - alpha (Clopper & Pearson 1934)."""
    seen = np.asarray(events)
    return np.asarray(np.where(seen < runs, betaincinv(seen + 1, np.maximum(runs - seen, 1), 1 - alpha), 1.0))


def epsilon_bound(present: Floats, absent: Floats, delta: float, alpha: float) -> float:
    """Epsilon is at least this, with confidence 1 - alpha, whatever the mechanism.

    present, absent: scores of independent runs with and without the user; higher speaks for the user.
    """

    def strength(missed: Floats, mistaken: Floats) -> Floats:
        return _epsilon(missed, mistaken, delta)

    return _strongest(present, absent, alpha, strength)


def gaussian_bound(present: Floats, absent: Floats, delta: float, alpha: float) -> float:
    """The same for a mechanism that is known to be Gaussian: tighter, and void for any other.

    Two rates pin down mu of the trade-off curve (Dong, Roth & Su 2022, eq. 6), and mu gives epsilon.
    """
    return gaussian_epsilon(_strongest(present, absent, alpha, _mu), delta)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Telling N(mu, 1) from N(0, 1), as epsilon; zero where delta alone covers it."""
    if 2 * ndtr(mu / 2) - 1 <= delta:
        return 0.0
    import dp_accounting as dpa  # takes a second, which every start of the graph would pay for

    with np.errstate(divide="ignore"):  # the search starts where a logarithm is minus infinity
        return float(dpa.get_epsilon_gaussian(1 / mu, delta))


def resolution(runs: int, delta: float, alpha: float) -> float:
    """The highest bound that so many runs per side could show: not one error in the half that counts."""
    none = upper_rate(0, runs - runs // 2, alpha / 2)
    return float(_epsilon(none, none, delta))


def _strongest(present: Floats, absent: Floats, alpha: float, strength: Strength) -> float:
    """The strength, on the second half of the runs, of the threshold that was strongest on the first.

    Each rate is bounded with confidence 1 - alpha/2, so both hold together with confidence 1 - alpha.
    """
    if min(len(present), len(absent)) < 2 or not 0 < alpha < 1:
        raise ValueError(
            "a bound needs two runs per side and alpha between 0 and 1, "
            f"got {len(present)} and {len(absent)} runs and alpha={alpha}"
        )
    chosen_on, counted_on = zip(_halves(present), _halves(absent), strict=True)
    levels = np.linspace(0, 1, CANDIDATES)
    thresholds = np.unique(np.quantile(np.concatenate(chosen_on), levels, method="inverted_cdf"))
    best = thresholds[np.argmax(strength(*_rates(*chosen_on, thresholds, alpha)))]
    return float(strength(*_rates(*counted_on, best, alpha)))


def _halves(scores: Floats) -> tuple[Floats, Floats]:
    middle = len(scores) // 2
    return scores[:middle], scores[middle:]


def _rates(present: Floats, absent: Floats, thresholds: Floats, alpha: float) -> tuple[Floats, Floats]:
    missed = np.searchsorted(np.sort(present), thresholds, side="left")
    mistaken = len(absent) - np.searchsorted(np.sort(absent), thresholds, side="left")
    return upper_rate(missed, len(present), alpha / 2), upper_rate(mistaken, len(absent), alpha / 2)


def _epsilon(missed: Floats, mistaken: Floats, delta: float) -> Floats:
    """The larger of both directions: bounds on two rates serve both."""
    smallest = np.finfo(np.float64).tiny  # a probability of zero bounds nothing
    odds = np.maximum((1 - missed - delta) / mistaken, (1 - mistaken - delta) / missed)
    return np.maximum(np.log(np.maximum(odds, smallest)), 0.0)


def _mu(missed: Floats, mistaken: Floats) -> Floats:
    """Distance of two normal distributions that these error rates ask for, at least."""
    inside = np.nextafter(1.0, 0.0)  # a rate of one would be at minus infinity
    distance = -ndtri(np.minimum(mistaken, inside)) - ndtri(np.minimum(missed, inside))
    return np.asarray(np.maximum(distance, 0.0))


def largest_auc(epsilon: float, delta: float) -> float:
    """The largest AUC that (epsilon, delta)-differential privacy allows any attack on one person."""
    if not (epsilon >= 0 and 0 <= delta <= 1):
        raise ValueError(f"a promise must have epsilon >= 0 and delta in 0 … 1, got {epsilon=}, {delta=}")
    return 1.0 - (1.0 - delta) ** 2 * math.exp(-epsilon) / (1.0 + math.exp(-epsilon))


def smallest_epsilon(auc: float, delta: float) -> float:
    """The smallest epsilon with which an AUC is possible: what an attack that works so well shows."""
    if auc >= 1.0:
        return math.inf
    return max(0.0, math.log(max((1.0 - delta) ** 2 / (1.0 - auc) - 1.0, 1e-300)))
