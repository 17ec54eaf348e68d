"""Looking ahead: what releases would cost together, before anything is spent."""

from collections.abc import Callable, Sequence

import dp_accounting as dpa
from dp_accounting import rdp
from scipy.optimize import brentq

from density_assets.privacy.accounting import ORDERS
from density_assets.privacy.events import Event


def cost_of(before: Sequence[Event], release: Sequence[Event], releases: int, delta: float) -> float:
    """Epsilon after `releases` more releases like this one, by RDP as the ledger adds them."""
    accountant = rdp.RdpAccountant(ORDERS, dpa.NeighboringRelation.ADD_OR_REMOVE_ONE)
    for event in before:
        accountant.compose(event.dp_event)
    if releases:
        accountant.compose(dpa.ComposedDpEvent([event.dp_event for event in release]), releases)
    return float(accountant.get_epsilon(delta)) if before or releases else 0.0


def releases_that_fit(before: Sequence[Event], release: Sequence[Event], epsilon: float, delta: float) -> int:
    """How many more releases like this one stay within epsilon."""
    fits, too_many = 0, 1
    while cost_of(before, release, too_many, delta) <= epsilon:
        fits, too_many = too_many, 2 * too_many
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        fits, too_many = (middle, too_many) if cost_of(before, release, middle, delta) <= epsilon else (fits, middle)
    return fits


def epsilon_that_fits(
    release_at: Callable[[float], Sequence[Event]], before: Sequence[Event], releases: int, epsilon: float, delta: float
) -> float:
    """The largest epsilon of one release such that so many of them stay within a budget."""

    def excess(each: float) -> float:
        return cost_of(before, release_at(each), releases, delta) - epsilon

    smallest, largest = 1e-3, max(epsilon, 2e-3)
    if excess(smallest) > 0:
        return 0.0
    return float(brentq(excess, smallest, largest, xtol=1e-4)) if excess(largest) > 0 else largest
