"""What a technique is: from the traces of a week to what somebody would publish of them, counted to a density.

Acs, Biczók & Castelluccia review three approaches (§3): answers to queries, trajectories, the density itself. Whatever
is published, a reader can count it to visits per place and hour, so all techniques end there and can be compared.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from density_assets.privacy.calibration import calibrate, gaussian_sigma, selection_epsilon
from density_assets.privacy.events import Event, Gaussian, Selection
from density_assets.privacy.noise import Noise
from density_assets.research.study import Row
from density_assets.research.traces.matrix import Traces
from density_assets.series import Floats

Approach = Literal["queries", "trajectories", "density"]
Unit = Literal["nobody", "a visit", "w hours of a user", "a user's week"]


class Parameters(BaseModel):
    """What a person chooses of a technique; nothing here may be computed from the traces."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PrivateParameters(Parameters):
    """The promise of a private technique: (epsilon, delta) for the unit that it protects."""

    epsilon: float = Field(1.0, gt=0, allow_inf_nan=False)
    delta: float = Field(1e-6, gt=0, lt=1)


Chosen = TypeVar("Chosen", bound=Parameters)


@dataclass(frozen=True)
class Published:
    """What a technique publishes.

    density: visits per place and hour, (places, hours).
    traces: the trajectories, where those are published.
    events: what was spent on each unit of the promise; none where nothing is promised in terms of noise.
    facts: what else a reader should know, as plain values: groups, what was left out, distances moved.
    """

    density: Floats
    traces: Traces | None = None
    events: tuple[Event, ...] = ()
    facts: Row = field(default_factory=dict)


@dataclass(frozen=True)
class Technique(Generic[Chosen]):
    """One way to publish a week.

    protects: the unit that its promise is about. promise: the promise in words. source: where it is described.
    publish: from traces (positions in metres), parameters and a seed; the same seed gives the same output.
    """

    name: str
    approach: Approach
    protects: Unit
    promise: str
    source: str
    parameters: type[Chosen]
    publish: Callable[[Traces, Chosen, int], Published]


AnyTechnique = Technique[Any]


@dataclass(frozen=True)
class Statistic:
    """Exact values, to be seen by noise only, and how far one person more or less can move them (L2)."""

    values: Floats
    sensitivity: float


def share_budget(
    sensitivities: Mapping[str, float],
    shares: Mapping[str, float],
    promise: PrivateParameters,
    *,
    selections: frozenset[str] = frozenset(),
    times: Mapping[str, int] | None = None,
) -> dict[str, Event]:
    """Return an event for each query, which together cost (epsilon, delta); the budget is shared out in zCDP.

    sensitivities: how far (L2) one person can move each query. shares: of the budget; any positive numbers.
    selections: what is chosen by exponential mechanisms. times: queries that are drawn more than once, each time with
    an equal part of their share.
    """
    whole, repeated = sum(shares[name] for name in sensitivities), times or {}

    def event(name: str, rho: float) -> Event:
        if name in selections:
            return Selection(name, selection_epsilon(rho), sensitivities[name])
        return Gaussian(name, gaussian_sigma(rho, sensitivities[name]), sensitivities[name])

    def events_at(rho: float) -> list[Event]:
        numbers = {name: repeated.get(name, 1) for name in sensitivities}
        parts = {name: event(name, rho * shares[name] / whole / number) for name, number in numbers.items()}
        return [part for name, part in parts.items() for _ in range(numbers[name])]

    return {one.query: one for one in calibrate(events_at, promise.epsilon, promise.delta)}


def measure_statistics(
    statistics: Mapping[str, Statistic], events: Mapping[str, Event], noise: Noise
) -> dict[str, Floats]:
    """Return all statistics with their noise; of a selection, the column that was chosen in each row."""
    return {name: _measure(statistic.values, events[name], noise) for name, statistic in statistics.items()}


def _measure(values: Floats, event: Event, noise: Noise) -> Floats:
    if isinstance(event, Selection):
        return noise.select(values, event).astype(np.float64)
    assert isinstance(event, Gaussian)
    return noise.gaussian(values, event)
