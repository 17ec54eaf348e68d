"""What a technique is: from the traces of a week to what somebody would publish of them, counted to a density.

Acs, Biczók & Castelluccia review three approaches (§3): answers to queries, trajectories, the density itself. Whatever
is published, a reader can count it to visits per place and hour, so all techniques end there and can be compared.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from density_assets.privacy.events import Event
from density_assets.research.study import Row
from density_assets.research.traces.matrix import Traces

Floats = NDArray[np.float64]
Approach = Literal["queries", "trajectories", "density"]
Unit = Literal["nobody", "a visit", "w hours of a user", "a user's week"]


class Parameters(BaseModel):
    """What a person chooses of a technique; nothing here may be computed from the traces."""

    model_config = ConfigDict(frozen=True, extra="forbid")


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
