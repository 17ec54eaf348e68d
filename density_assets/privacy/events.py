"""What a mechanism spends, as frozen values.

An event names the query, its sensitivity to one user and the noise it got. Nothing else may be charged: an event
of unknown kind is refused, never guessed.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import dp_accounting as dpa


@dataclass(frozen=True)
class Event(ABC):
    """One use of noise on one query."""

    kind: ClassVar[str]
    query: str

    @property
    @abstractmethod
    def dp_event(self) -> dpa.DpEvent:
        """The same, as Google's dp-accounting knows it."""

    @property
    def standard_deviation(self) -> float | None:
        """Of the noise on each value, where noise is added to values."""
        return None


@dataclass(frozen=True)
class Gaussian(Event):
    """Gaussian noise of standard deviation sigma on a query with L2 sensitivity `sensitivity`."""

    kind: ClassVar[str] = "gaussian"
    sigma: float
    sensitivity: float

    def __post_init__(self) -> None:
        _positive(sigma=self.sigma, sensitivity=self.sensitivity)

    @property
    def dp_event(self) -> dpa.DpEvent:
        return dpa.GaussianDpEvent(self.sigma / self.sensitivity)

    @property
    def standard_deviation(self) -> float:
        return self.sigma


@dataclass(frozen=True)
class _LaplaceNoise(Event):
    """Laplace noise of parameter `scale`; what `sensitivity` bounds is said by the kinds, and so is the cost."""

    scale: float
    sensitivity: float

    def __post_init__(self) -> None:
        _positive(scale=self.scale, sensitivity=self.sensitivity)

    @property
    def standard_deviation(self) -> float:
        return math.sqrt(2) * self.scale


@dataclass(frozen=True)
class Laplace(_LaplaceNoise):
    """Laplace noise of parameter `scale` on a query with L1 sensitivity `sensitivity`."""

    kind: ClassVar[str] = "laplace"

    @property
    def dp_event(self) -> dpa.DpEvent:
        return dpa.LaplaceDpEvent(self.scale / self.sensitivity)


@dataclass(frozen=True)
class LaplaceVector(_LaplaceNoise):
    """Laplace noise of parameter `scale` on values whose changes d have sqrt(Σ d²) of at most `sensitivity`.

    Each value is (d/scale)-DP, hence (d/scale)²/2-zCDP (Bun & Steinke 2016, prop. 1.4); squares add up to
    sensitivity²/(2·scale²), however many values there are.
    """

    kind: ClassVar[str] = "laplace_vector"

    @property
    def dp_event(self) -> dpa.DpEvent:
        return dpa.ZCDpEvent((self.sensitivity / self.scale) ** 2 / 2)


@dataclass(frozen=True)
class Selection(Event):
    """Exponential mechanisms with exponents -epsilon·u/(2·sensitivity), one per disjoint part of the data.

    One user changes the scores u of part E by at most d_E, and sqrt(Σ d_E²) is at most `sensitivity`. Part E then
    costs (epsilon·d_E/sensitivity)²/8 of zCDP (bounded range: Cesar & Rogers 2021), all parts together epsilon²/8.
    """

    kind: ClassVar[str] = "selection"
    epsilon: float
    sensitivity: float

    def __post_init__(self) -> None:
        _positive(epsilon=self.epsilon, sensitivity=self.sensitivity)

    @property
    def rho(self) -> float:
        """What all parts cost together, in zCDP."""
        return self.epsilon**2 / 8

    @property
    def scale(self) -> float:
        """Score differences of this size change a probability by a factor e."""
        return 2 * self.sensitivity / self.epsilon

    @property
    def dp_event(self) -> dpa.DpEvent:
        return dpa.ZCDpEvent(self.rho)


_KINDS: dict[str, type[Event]] = {kind.kind: kind for kind in (Gaussian, Laplace, LaplaceVector, Selection)}


def to_record(event: Event) -> dict[str, Any]:
    """The event as plain data, for ledger and statement."""
    return {"kind": event.kind, **asdict(event)}


def from_record(record: Mapping[str, Any]) -> Event:
    """The event that plain data describes."""
    fields = dict(record)
    kind = fields.pop("kind", None)
    if kind not in _KINDS:
        raise ValueError(f"an event must be one of {', '.join(_KINDS)}, got {kind!r}: it cannot be accounted for")
    return _KINDS[kind](**fields)


def _positive(**values: float) -> None:
    for name, value in values.items():
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be positive and finite, got {name}={value}")
