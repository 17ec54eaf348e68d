"""Choosing noise so that a release costs what was asked: never more, and less by half a percent at most."""

import math
from collections.abc import Callable, Sequence

from scipy.optimize import brentq

from density_assets.errors import BadInput
from density_assets.privacy.composition import compose, spent
from density_assets.privacy.events import Event

# Floating-point sums precede some of the noise, and noise on integers is a little above the continuous one that is
# searched for: a tenth of a percent is left unspent for both, and integers are looked at afterwards.
USABLE = 0.999
AIM = 0.997

EventsAt = Callable[[float], Sequence[Event]]


def calibrate(events_at: EventsAt, epsilon: float, delta: float, *, on_integers: bool = False) -> tuple[Event, ...]:
    """The events of a release that costs (epsilon, delta).

    events_at: the events as a function of rho, a budget in zCDP to share out; more rho is less noise.
    on_integers: whether noise is the discrete Gaussian, which costs more than the continuous one if it is small.

    Guarantees: spent(result, delta).epsilon is at most USABLE · epsilon; on integers, where that is not the cost, what
    is proven for the discrete Gaussian is at most epsilon.
    """
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise ValueError(f"epsilon must be positive and finite, got epsilon={epsilon}")
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie between 0 and 1, got delta={delta}")

    def excess(log_rho: float) -> float:
        return spent(events_at(math.exp(log_rho)), delta).epsilon / epsilon - AIM

    # zCDP gives epsilon ≈ 2 sqrt(rho log(1/delta)) for small rho and epsilon ≈ rho for large.
    guess = math.log(min(epsilon**2 / (4 * math.log(1 / delta)), epsilon))
    log_rho = brentq(excess, guess - 8, guess + 8, xtol=1e-4)
    events = tuple(events_at(math.exp(log_rho)))
    if (cost := spent(events, delta).epsilon) > USABLE * epsilon:
        raise ArithmeticError(f"calibration must stay below epsilon={epsilon}, got {cost}: refuse to release")
    if on_integers and (proven := compose(events).epsilon(delta)) > epsilon:
        raise BadInput(
            f"noise on whole numbers must be large beside 1 to be as private as it looks: for epsilon {epsilon:g} at "
            f"delta {delta:g} its sigma is {min(event.standard_deviation or math.inf for event in events):.3g}, which "
            f"may cost {proven:.4g}. Lower privacy.epsilon or raise privacy.visits_clamp; nothing was charged"
        )
    return events


def gaussian_sigma(rho: float, sensitivity: float) -> float:
    """Standard deviation of Gaussian noise that costs rho of zCDP: rho = sensitivity² / (2 sigma²)."""
    return sensitivity / math.sqrt(2 * rho)


def laplace_scale(rho: float, sensitivity: float) -> float:
    """Scale of Laplace noise that costs at most rho of zCDP: epsilon = sensitivity / scale, rho = epsilon² / 2."""
    return sensitivity / math.sqrt(2 * rho)


def selection_epsilon(rho: float) -> float:
    """Epsilon of exponential mechanisms that cost rho of zCDP together: rho = epsilon² / 8."""
    return math.sqrt(8 * rho)
