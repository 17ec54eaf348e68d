"""`direct`, `threshold`, `static_hybrid`, `dynamic_hybrid`: releases with moving characteristics (Chen et al.).

People move by day and rest at night. `direct` draws every hour, `threshold` only hours that differ from the last
release, the hybrids the first by day and the second at night: `perturbation.py`. The stream here is a week of 168
hours. Each scheme says what its steps may cost; the events of sound and published budgets, and the argument for their
bounds, are in `budgets.py`.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from density_assets.calendar import HOURS
from density_assets.estimation.clustering import consistent
from density_assets.geography.places import Kind, Places
from density_assets.privacy.calibration import calibrate
from density_assets.privacy.events import Event, Laplace, LaplaceVector, SparseVector, WindowSelection
from density_assets.privacy.noise import Noise
from density_assets.schemes.moving.budgets import (
    DAYS,
    Budget,
    PureBudget,
    ZcdpBudget,
    hybrid_events,
    hybrid_of,
    over_hours,
)
from density_assets.schemes.moving.perturbation import Hybrid, direct, threshold
from density_assets.schemes.scheme import (
    SERIES,
    TOTALS,
    WHERE,
    Counts,
    Estimate,
    Plan,
    Values,
    alone,
    mapped_error,
    present,
)
from density_assets.series import Floats
from density_assets.settings import SchemeSettings, Settings

COMPARING = ("change", "releases", "comparing_share")  # settings of what is drawn when hours have changed
CONSISTENCY_SEED = 3  # public randomness: it decides which positive counts pay for negative ones

Events = tuple[Event, ...]


@dataclass(frozen=True)
class Moving(ABC):
    """What the four share: one door, every place alone, and the consistency of Alg. 3 afterwards."""

    places: Kind = "cover"
    clustered: bool = False
    name: ClassVar[str]
    own_settings: ClassVar[tuple[str, ...]] = ()

    def reads(self, settings: Settings) -> Mapping[str, tuple[str, ...]]:
        """The series alone."""
        return {TOTALS: (), SERIES: (WHERE[self.places],)}

    def plan(self, settings: Settings) -> Plan:
        """Everything is spent at one door."""
        privacy, chosen = settings.privacy, settings.scheme
        if chosen.calibration == "published":
            return {SERIES: self.events(privacy.epsilon, PureBudget(chosen), chosen)}
        budget = ZcdpBudget(chosen, privacy.visits_per_user)
        return {SERIES: calibrate(lambda rho: self.events(rho, budget, chosen), privacy.epsilon, privacy.delta)}

    @abstractmethod
    def events(self, cost: float, budget: Budget, chosen: SchemeSettings) -> Events:
        """Events that cost so much together."""

    @abstractmethod
    def perturbed(self, stream: Floats, events: Events, noise: Noise) -> Floats:
        """The noisy stream (hours, places)."""

    def totals(self, plan: Plan, counts: Counts, noise: Noise) -> Values:
        """None needed: the series carry their own."""
        return {}

    def clusters(self, plan: Plan, totals: Values, places: Places) -> NDArray[np.int64]:
        """Every place alone."""
        return alone(places.count(self.places))

    def series(self, plan: Plan, counts: Counts, labels: NDArray[np.int64], noise: Noise) -> Values:
        """The noisy stream, as one series per place."""
        stream = np.asarray(present(counts.series), dtype=np.float64).T
        noisy = self.perturbed(stream, plan[SERIES], noise)
        return {"series": np.ascontiguousarray(noisy.T), "kept": np.full(len(noisy.T), HOURS)}

    def estimate(
        self, settings: Settings, plan: Plan, totals: Values, labels: NDArray[np.int64], drawn: Values, places: Places
    ) -> Estimate:
        """Whole counts, none negative, each hour's total kept; the error is that of the noisiest hours."""
        counts = consistent(drawn["series"].T, np.random.default_rng(CONSISTENCY_SEED)).T.astype(np.float64)
        error = np.full(counts.shape, max(self.deviation(event) for event in plan[SERIES]))
        return Estimate(counts, mapped_error(places.to_cells(self.places), error))

    @staticmethod
    def deviation(event: Event) -> float:
        """Standard deviation of the noise an event puts on a count, at most."""
        deviation = event.standard_deviation or 0.0
        return deviation * HOURS if isinstance(event, Laplace) else deviation  # published: of one hour


class Direct(Moving):
    """Every hour afresh."""

    name = "direct"

    def events(self, cost: float, budget: Budget, chosen: SchemeSettings) -> Events:
        return (budget.every_hour(cost),)

    def perturbed(self, stream: Floats, events: Events, noise: Noise) -> Floats:
        (event,) = events
        return direct(stream, over_hours(event, len(stream)), noise)


class Threshold(Moving):
    """Hours that have changed afresh."""

    name = "threshold"
    own_settings = COMPARING

    def events(self, cost: float, budget: Budget, chosen: SchemeSettings) -> Events:
        return (budget.changed_hours(cost),)

    def perturbed(self, stream: Floats, events: Events, noise: Noise) -> Floats:
        (event,) = events
        assert isinstance(event, SparseVector)
        return threshold(stream, event, _bar(event, stream.shape[1]), noise)


class StaticHybrid(Moving):
    """Windows chosen from the days themselves; the quiet hours of the week are one stream."""

    name = "static_hybrid"
    own_settings = (*COMPARING, "selecting_share", "moving_share", "window_weight")
    predicts: ClassVar[bool] = False
    selections: ClassVar[int] = DAYS
    streams: ClassVar[int] = 1

    def events(self, cost: float, budget: Budget, chosen: SchemeSettings) -> Events:
        return hybrid_events(cost, budget, chosen, self.selections, self.streams)

    def walk(self, events: Events, places: int) -> Hybrid:
        """The hybrid that draws with these events; published ones are told by their pure budget."""
        selection, moving, still = events
        assert isinstance(selection, WindowSelection)
        assert isinstance(moving, Laplace | LaplaceVector)
        assert isinstance(still, SparseVector)
        bar = _bar(still, places)
        return hybrid_of((selection, moving, still), bar, predicts=self.predicts, sound=not still.pure)

    def perturbed(self, stream: Floats, events: Events, noise: Noise) -> Floats:
        return self.walk(events, stream.shape[1]).release((), np.split(stream, DAYS), noise)[0]


@dataclass(frozen=True)
class DynamicHybrid(StaticHybrid):
    """Windows predicted from the windows of the days before, the first day's public; two quiet streams a day."""

    name = "dynamic_hybrid"
    predicts = True
    selections = DAYS - 1
    streams = 2 * DAYS


def _bar(event: SparseVector, places: int) -> float:
    """The threshold; soundly, counted from the distance E|Laplace| = scale that noise alone makes at each place."""
    floor = float(places * event.scale)
    return event.change * floor if event.pure else (1 + event.change) * floor
