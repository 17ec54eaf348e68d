"""What events cost together: the smallest epsilon that a sound argument gives for a delta.

Gaussian noise alone composes to one Gaussian, whose privacy curve is exact (Balle & Wang 2018). Gaussian and Laplace
noise have privacy loss distributions, composed numerically with pessimistic rounding. Everything has a Rényi curve.
All are upper bounds on the same thing, so the smallest may be reported.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import dp_accounting as dpa
import numpy as np
from dp_accounting import pld, rdp

from density_assets.privacy.events import Event, Gaussian, Laplace

# Fine where a year of weekly releases has its optimum (2 to 50), wide enough for one release at epsilon 0.01.
ORDERS = tuple(
    np.unique(np.round(np.concatenate([np.linspace(1.05, 4, 60), np.geomspace(4, 20_000, 240)]), 3)).tolist()
)
PLD_INTERVAL = 1e-4


@dataclass(frozen=True)
class Bound:
    """A sound bound on epsilon and the argument it comes from."""

    epsilon: float
    delta: float
    accountant: str


def spent(events: Sequence[Event], delta: float) -> Bound:
    """The best bound on what events fixed beforehand cost together."""
    if not events:
        return Bound(0.0, delta, "nothing was measured")
    bounds = [rdp_bound(events, delta)]
    if all(isinstance(event, Gaussian) for event in events):
        bounds.append(_gaussian_bound([event for event in events if isinstance(event, Gaussian)], delta))
    elif all(isinstance(event, Gaussian | Laplace) for event in events):
        bounds.append(_pld_bound(events, delta))
    return min(bounds, key=lambda bound: bound.epsilon)


def rdp_bound(events: Iterable[Event], delta: float) -> Bound:
    """The Rényi bound: it holds for adaptive sequences too, as a filter over the orders (Lécuyer 2021)."""
    accountant = rdp.RdpAccountant(ORDERS, dpa.NeighboringRelation.ADD_OR_REMOVE_ONE)
    accountant.compose(dpa.ComposedDpEvent([event.dp_event for event in events]))
    return Bound(float(accountant.get_epsilon(delta)), delta, "RDP")


def _gaussian_bound(events: Sequence[Gaussian], delta: float) -> Bound:
    multiplier = 1 / math.sqrt(sum((event.sensitivity / event.sigma) ** 2 for event in events))
    with np.errstate(divide="ignore"):  # its search starts where a logarithm is minus infinity
        epsilon = float(dpa.get_epsilon_gaussian(multiplier, delta))
    return Bound(epsilon, delta, "analytic Gaussian")


def _pld_bound(events: Sequence[Event], delta: float) -> Bound:
    accountant = pld.PLDAccountant(dpa.NeighboringRelation.ADD_OR_REMOVE_ONE, PLD_INTERVAL)
    accountant.compose(dpa.ComposedDpEvent([event.dp_event for event in events]))
    return Bound(float(accountant.get_epsilon(delta)), delta, "PLD")
