"""What one release costs: the smallest epsilon that a sound argument gives for events fixed before the first draw.

To what adds up over weeks (`composition.py`) a release may add its privacy loss distribution, where all noise is
Gaussian or Laplace: composed numerically with pessimistic rounding, and for events that are fixed beforehand only.
All are upper bounds on the same thing, so the smallest may be reported.
"""

import math
from collections.abc import Sequence

from density_assets.privacy.composition import Bound, compose, gaussian_epsilon
from density_assets.privacy.events import Event, Gaussian, Laplace

PLD_INTERVAL = 1e-4


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
