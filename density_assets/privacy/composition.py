"""What events cost together: one value that adds up, over the doors of a release and over the weeks of a ledger.

Three arguments bound the same privacy loss, and each of them is a sum over events:

pure    Laplace noise of epsilon each is Σ epsilon-DP; this needs no delta.
exact   Gaussian noise composes to one Gaussian mechanism of ratio mu, mu² = Σ sensitivity²/sigma², whose privacy curve
        is exact (Balle & Wang 2018).
Rényi   events of every kind have a Rényi curve over `ORDERS`, and curves add up (Mironov 2017).

What a week will spend is decided when all weeks before it are known, so a year is not a composition of events that were
fixed beforehand: a budget is kept by a filter, which lets an event pass as long as a sum stays below a constant. The
constants follow from the budget alone: epsilon for the first sum, the mu of that (epsilon, delta) for the second, and
for the third what one order may reach, which is fixed as well. `Composition.epsilon` is the smallest budget from which
on the filter lets all its events pass. docs/privacy.md says why the filters hold.

One release alone may cost less: where its noise is Gaussian or Laplace and fixed before the first draw, its privacy
loss distribution is composed numerically, with pessimistic rounding. All are upper bounds on the same thing, so `spent`
reports the smallest.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr

from density_assets.privacy.events import Event, Gaussian, Laplace
from density_assets.series import Floats

# Fine where a year of weekly releases has its optimum (2 to 50), wide enough for one release at epsilon 0.01.
ORDERS: Floats = np.unique(np.round(np.concatenate([np.linspace(1.05, 4, 60), np.geomspace(4, 20_000, 240)]), 3))

# Noise on integers is the discrete Gaussian of sigma, which is as private as the continuous one of sqrt(sigma² - 2²)
# up to a factor below 1 + 1e-20 (docs/privacy.md). What was drawn on integers cannot be told from an event, so this is
# kept for all of them; it takes nothing that one would notice from a sigma of a hundred.
LATTICE = 2.0
LEAST_SIGMA = 4.0  # below this the correction is large, and the Rényi curve is the better bound

PLD_INTERVAL = 1e-4  # of the numerical composition of one release


@dataclass(frozen=True)
class Bound:
    """A sound bound on epsilon and the argument it comes from."""

    epsilon: float
    delta: float
    accountant: str


@dataclass(frozen=True, eq=False)
class Composition:
    """What events cost together, by each argument; infinite where an event is not of its kind.

    rho: in zCDP, which holds for all of them.
    renyi: divergence at each of `ORDERS`.
    """

    pure: float
    mu_squared: float
    rho: float
    renyi: Floats = field(repr=False)

    def __post_init__(self) -> None:
        self.renyi.setflags(write=False)  # values are kept and shared

    def __add__(self, other: "Composition") -> "Composition":
        return Composition(
            self.pure + other.pure, self.mu_squared + other.mu_squared, self.rho + other.rho, self.renyi + other.renyi
        )

    def __mul__(self, times: int) -> "Composition":
        if times < 1:
            return NOTHING  # infinity times zero is not a number
        return Composition(self.pure * times, self.mu_squared * times, self.rho * times, self.renyi * times)

    @property
    def mu(self) -> float | None:
        """The ratio of the Gaussian mechanism it is as private as; none if there is other noise, or too little."""
        return math.sqrt(self.mu_squared) if math.isfinite(self.mu_squared) else None

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon of a budget at delta from which on the filter lets all events pass."""
        return self.bound(delta).epsilon

    def bound(self, delta: float) -> Bound:
        """The same with the argument that gives it."""
        if not self.rho:
            return Bound(0.0, delta, "nothing was measured")
        bounds = [Bound(self.pure, delta, "pure"), Bound(_filter_epsilon(self.renyi, delta), delta, "Rényi filter")]
        if self.mu is not None:
            bounds.append(Bound(gaussian_epsilon(self.mu, delta), delta, "exact Gaussian"))
        return min(bounds, key=lambda bound: bound.epsilon)

    def renyi_epsilon(self, delta: float) -> float:
        """Epsilon by the best order: for events that were fixed beforehand."""
        return max(float(_at_each_order(self.renyi, delta).min()), 0.0) if self.rho else 0.0

    def deltas(self, epsilons: Floats) -> Floats:
        """A delta for each epsilon, for events that were fixed beforehand (Canonne, Kamath & Steinke 2020, prop. 12).

        At epsilon 0 it bounds the total variation, which the divergence of order 1, at most rho, bounds as well
        (Pinsker; Bretagnolle & Huber 1979).
        """
        exponents = (ORDERS - 1) * (self.renyi - epsilons[:, None] + _SHIFTS) - np.log(ORDERS)
        variation = min(math.sqrt(self.rho / 2), math.sqrt(-math.expm1(-self.rho)))
        return np.where(epsilons >= self.pure, 0.0, np.minimum(np.exp(np.minimum(exponents.min(axis=1), 0)), variation))


NOTHING = Composition(0.0, 0.0, 0.0, np.zeros(len(ORDERS)))


def compose(events: Iterable[Event], identifiers: int = 1) -> Composition:
    """What events cost together somebody who has so many identifiers; one is what they are charged for."""
    return _composed(tuple(events), identifiers)


@lru_cache(maxsize=4096)  # a ledger holds the same few releases again and again
def _composed(events: tuple[Event, ...], identifiers: int) -> Composition:
    return sum((_alone(event, identifiers) for event in events), NOTHING)


@lru_cache(maxsize=4096)
def _alone(event: Event, identifiers: int) -> Composition:
    """One event; m identifiers change values, distances and scores by m times as much as one."""
    rho = identifiers**2 * event.rho
    if isinstance(event, Gaussian):
        sensitivity = identifiers * event.sensitivity
        fine = event.sigma >= LEAST_SIGMA
        mu_squared = sensitivity**2 / (event.sigma**2 - LATTICE**2) if fine else math.inf
        return Composition(math.inf, mu_squared, rho, ORDERS / (2 * (event.sigma / sensitivity) ** 2))
    if isinstance(event, Laplace):
        epsilon = 1 / (event.scale / (identifiers * event.sensitivity))
        return Composition(epsilon, math.inf, rho, _laplace_curve(epsilon))
    return Composition(math.inf, math.inf, rho, rho * ORDERS)


def _laplace_curve(epsilon: float) -> Floats:
    """Rényi divergences of Laplace noise (Mironov 2017, prop. 6), by functions that are the same on every machine.

    With a for the order: epsilon + log(1 - (a-1)(1 - exp(-(2a-1) epsilon)) / (2a-1)) / (a-1).
    """
    excess = [math.log1p((a - 1) * math.expm1(epsilon * (1 - 2 * a)) / (2 * a - 1)) / (a - 1) for a in ORDERS.tolist()]
    return np.asarray(epsilon + np.array(excess))


# --- from divergences to epsilon (Canonne, Kamath & Steinke 2020, prop. 12) -----------------------------------------

_SHIFTS = np.array([math.log1p(-1 / order) for order in ORDERS.tolist()])


@lru_cache
def _tails(delta: float) -> Floats:
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie between 0 and 1, got delta={delta}")
    return np.array([math.log(delta * order) / (order - 1) for order in ORDERS.tolist()])


def _at_each_order(divergences: Floats, delta: float) -> Floats:
    return np.asarray(divergences + _SHIFTS - _tails(delta))


def _filter_epsilon(divergences: Floats, delta: float) -> float:
    """The smallest budget from which on every budget lets the divergences pass, at its own order.

    An order is fixed for each budget before anything is spent: the one that lets most zCDP pass. Each order stands for
    a range of budgets, and refuses those of its range that are below what it needs.
    """
    least, most = _budgets_of_orders(delta)
    needed = _at_each_order(divergences, delta)
    return float(np.where(needed > least, np.minimum(needed, most), 0.0).max())


@lru_cache
def _budgets_of_orders(delta: float) -> tuple[Floats, Floats]:
    """The least and the largest epsilon each order stands for; of zCDP it admits (epsilon - conversion) / order."""
    conversion = _SHIFTS - _tails(delta)
    smaller, larger = ORDERS[:-1], ORDERS[1:]
    equal = (larger * conversion[:-1] - smaller * conversion[1:]) / (larger - smaller)
    return np.append(equal, 0.0), np.insert(equal, 0, math.inf)


# --- from mu to epsilon (Balle & Wang 2018, Thm 8) ------------------------------------------------------------------


@lru_cache(maxsize=16_384)
def gaussian_epsilon(mu: float, delta: float) -> float:
    """Epsilon of a Gaussian mechanism whose sensitivity is mu times its sigma: exact."""
    sigma, target = 1 / mu, np.log(delta)
    if _log_delta(sigma, 0.0) < target:
        return 0.0
    low, high = 0.0, 1.0
    while _log_delta(sigma, high) > target:
        low, high = high, 10 * high
    return float(brentq(lambda epsilon: _log_delta(sigma, epsilon) - target, low, high, xtol=1e-12))


def _log_delta(sigma: float, epsilon: float) -> float:
    threshold = epsilon * sigma + 1 / (2 * sigma)
    inside, outside = log_ndtr(1 / sigma - threshold), epsilon + log_ndtr(-threshold)
    # The search starts where the two are equal to the last digit, and the logarithm of nothing is minus infinity.
    return float(inside + np.log1p(-np.exp(outside - inside))) if outside < inside else -math.inf


def spent(events: Sequence[Event], delta: float) -> Bound:
    """The best bound on what events fixed beforehand cost together.

    Gaussians are taken as continuous: `calibrate` answers for noise on integers, which is a little above.
    """
    if not events:
        return Bound(0.0, delta, "nothing was measured")
    bounds = [Bound(compose(events).renyi_epsilon(delta), delta, "RDP")]
    if all(isinstance(event, Gaussian) for event in events):
        bounds.append(_gaussian_bound([event for event in events if isinstance(event, Gaussian)], delta))
    elif all(isinstance(event, Gaussian | Laplace) for event in events):
        bounds.append(_pld_bound(events, delta))
    return min(bounds, key=lambda bound: bound.epsilon)


def _gaussian_bound(events: Sequence[Gaussian], delta: float) -> Bound:
    mu = math.sqrt(sum((event.sensitivity / event.sigma) ** 2 for event in events))
    return Bound(gaussian_epsilon(mu, delta), delta, "analytic Gaussian")


def _pld_bound(events: Sequence[Event], delta: float) -> Bound:
    import dp_accounting as dpa  # takes a second, and most releases need none of it
    from dp_accounting import pld

    accountant = pld.PLDAccountant(dpa.NeighboringRelation.ADD_OR_REMOVE_ONE, PLD_INTERVAL)
    accountant.compose(dpa.ComposedDpEvent([event.dp_event for event in events]))
    return Bound(float(accountant.get_epsilon(delta)), delta, "PLD")
