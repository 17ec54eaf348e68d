"""What a mechanism spends, as frozen values.

An event names the query, its sensitivity to one user and the noise it got. Nothing else may be charged: an event
of unknown kind is refused, never guessed.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import dp_accounting as dpa


@dataclass(frozen=True)
class Event(ABC):
    """One use of noise on one query."""

    kind: ClassVar[str]
    query: str

    @property
    def dp_event(self) -> "dpa.DpEvent":
        """The same, as Google's dp-accounting knows it: by its cost in zCDP, where it knows no better."""
        import dp_accounting as dpa  # takes a second, and most releases need none of it

        return dpa.ZCDpEvent(self.rho)

    @property
    @abstractmethod
    def rho(self) -> float:
        """What it costs in zCDP. Somebody with m identifiers is charged m² of it (Bun & Steinke 2016, prop. 1.9)."""

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
    def dp_event(self) -> "dpa.DpEvent":
        import dp_accounting as dpa

        return dpa.GaussianDpEvent(self.sigma / self.sensitivity)

    @property
    def rho(self) -> float:
        return (self.sensitivity / self.sigma) ** 2 / 2

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
    def rho(self) -> float:
        return (self.sensitivity / self.scale) ** 2 / 2  # prop. 1.4: epsilon-DP is epsilon²/2-zCDP

    @property
    def standard_deviation(self) -> float:
        return math.sqrt(2) * self.scale


@dataclass(frozen=True)
class Laplace(_LaplaceNoise):
    """Laplace noise of parameter `scale` on a query with L1 sensitivity `sensitivity`."""

    kind: ClassVar[str] = "laplace"

    @property
    def dp_event(self) -> "dpa.DpEvent":
        import dp_accounting as dpa

        return dpa.LaplaceDpEvent(self.scale / self.sensitivity)


@dataclass(frozen=True)
class LaplaceVector(_LaplaceNoise):
    """Laplace noise of parameter `scale` on values whose changes d have sqrt(Σ d²) of at most `sensitivity`.

    Each value is (d/scale)-DP, hence (d/scale)²/2-zCDP (Bun & Steinke 2016, prop. 1.4); squares add up to
    sensitivity²/(2·scale²), however many values there are.
    """

    kind: ClassVar[str] = "laplace_vector"


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
        return self.epsilon**2 / 8

    @property
    def scale(self) -> float:
        """Score differences of this size change a probability by a factor e."""
        return 2 * self.sensitivity / self.epsilon


@dataclass(frozen=True)
class WindowSelection(Selection):
    """Windows of several days drawn by their utility with this `weight` (λ of `moving/windows.py`).

    The same people are there every day: with scores that one user moves by at most d each day, `sensitivity` is
    sqrt(days)·d.
    """

    kind: ClassVar[str] = "window_selection"
    weight: float


@dataclass(frozen=True)
class SparseVector(Event):
    """Streams of histograms, of which at most `releases` each are drawn afresh: when a noisy comparison says so.

    One user changes a histogram by at most `sensitivity` (L1), and its distance from anything already released by at
    most `distance`. A run of comparisons up to the next fresh histogram adds Laplace noise of 2·distance/epsilon to
    the threshold and of 4·distance/epsilon to each distance, which is epsilon-DP however long it is (Dwork & Roth
    2014, Thm 3.23: the factor 2 is what the sparse vector needs); a fresh histogram with Laplace noise of parameter
    `scale` is (sensitivity/scale)-DP. A step is one of each. What a stream has not used when its last histogram
    comes is spent there, so a stream costs `releases` steps, whatever happens.

    change: the public threshold, in units of the distance that noise alone puts between a release and the truth.
    pure: whether steps are added up in pure DP, as published, or in zCDP (Bun & Steinke 2016, prop. 1.4).
    """

    kind: ClassVar[str] = "sparse_vector"
    epsilon: float
    scale: float
    sensitivity: float
    releases: int
    distance: float = 1.0
    streams: int = 1
    change: float = 0.0
    pure: bool = False

    def __post_init__(self) -> None:
        _positive(epsilon=self.epsilon, scale=self.scale, sensitivity=self.sensitivity, distance=self.distance)
        _positive(releases=self.releases, streams=self.streams)

    @property
    def pure_epsilon(self) -> float:
        """What all streams cost together, in pure DP."""
        return self.streams * self.releases * (self.epsilon + self.sensitivity / self.scale)

    @property
    def rho(self) -> float:
        if self.pure:
            return self.pure_epsilon**2 / 2
        return self.streams * self.releases * (self.epsilon**2 + (self.sensitivity / self.scale) ** 2) / 2

    @property
    def threshold_noise(self) -> Laplace:
        """On the threshold, once per run."""
        return Laplace(self.query, 2 * self.distance / self.epsilon, self.distance)

    @property
    def distance_noise(self) -> Laplace:
        """On each distance that is compared."""
        return Laplace(self.query, 4 * self.distance / self.epsilon, self.distance)

    @property
    def release_noise(self) -> Laplace:
        """On each fresh histogram but the last of a stream."""
        return Laplace(self.query, self.scale, self.sensitivity)

    def last_noise(self, done: int) -> Laplace:
        """On the last histogram, after `done` steps: it spends all steps that are left, and they may not be none."""
        left = self.releases - done
        if left < 1:
            raise ValueError(f"a stream has {self.releases} steps, got {done} done: nothing is left to spend")
        ratio = self.sensitivity / self.scale
        epsilon = left * (self.epsilon + ratio) if self.pure else math.sqrt(left) * math.hypot(self.epsilon, ratio)
        return Laplace(self.query, self.sensitivity / epsilon, self.sensitivity)

    @property
    def standard_deviation(self) -> float:
        return math.sqrt(2) * self.scale


_KINDS: dict[str, type[Event]] = {
    kind.kind: kind for kind in (Gaussian, Laplace, LaplaceVector, Selection, WindowSelection, SparseVector)
}


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
