"""What a stream of counts may spend, in the unit that is promised, and the way from traces to a published density.

A stream publishes the counts of all places hour by hour. Two units are on offer, and their numbers cannot be compared:

w hours   w-event privacy as published (Kellaris et al. 2014): whatever a user did in w consecutive hours is protected
          by pure epsilon-DP. Laplace noise of scale b on the counts of an hour costs c/b, c being the visits a user may
          add in an hour; the hours of any window add up to at most epsilon. A week of a user costs 168/w times that.
week      all that a user did in the week is protected by (epsilon, delta)-DP. The published way to get there is
          w = 168. It can be had for less: a user is counted in at most a hours (`contributions.py`), so only the a
          dearest hours are added up, not all 168. Noise is Gaussian, since a delta is there to be used: c visits in an
          hour at different places have L2 norm sqrt(c), and an hour costs c/(2 sigma²) of zCDP.

Why the second is sound though later prices depend on earlier releases: fix a user and any releases. In an hour without
a visit of that user, counts and distances are the same with and without them, and cost nothing. In the others, at most
a, prices add up to at most the a dearest on that path, which never exceed the budget; for Gaussian noise with such a
bound on every path the cost is that of one Gaussian mechanism (privacy filters: Rogers et al. 2016; for Rényi
divergences Feldman & Zrnic 2021; for Gaussian DP Smith & Thakurta 2022).

Where prices are equal (Uniform, Sample, FAST, all comparisons) an hour may cost 1/a of the budget. Where a scheme saves
up in some hours to spend in others (BD, BA, RescueDP), the dearest hours may be all that it publishes, and no bound is
better than that of the whole week, w = 168; unless what can be saved is limited: BA with at most k parts for a release
costs a user at most a·k of them.

Every stream is published the same way: truncate, count, release, clip, scale. Counts cannot be negative, and clipped
noise adds up; truncation takes visits away. Both are mended where the promise is about the week, by scaling to a noisy
number of visits that is paid for. For windows of hours no such number is within the promise at a price worth paying,
and the stream stays as published.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
from pydantic import Field

from density_assets.errors import BadInput
from density_assets.privacy.calibration import gaussian_sigma
from density_assets.privacy.events import Event, Gaussian, Laplace
from density_assets.privacy.noise import Noise, SimulatedNoise
from density_assets.research.approaches.technique import PrivateParameters, Published, Technique, share_budget
from density_assets.research.contributions import (
    at_hours,
    clamped_total,
    require_visits,
    scale_to_total,
    truncate,
    visits_of_users,
)
from density_assets.research.traces.matrix import Traces
from density_assets.series import Flags, Floats

Drawn = Laplace | Gaussian
TOTAL = "visits in the week, clamped for each user"
LAST_DIGITS = 1 + 1e-9  # sums of prices are rounded


class StreamParameters(PrivateParameters):
    """What all streams have in common.

    unit, window: what is protected; the window is that of "w hours".
    visits_per_hour, hours_per_user: c and a; the second is used for "week" only.
    total_share: of the budget for the number of visits in the week, to which the density is scaled ("week" only).
    visits_clamp: visits of one user that are counted for that number.
    """

    unit: Literal["w hours", "week"] = "week"
    window: int = Field(24, ge=1)
    visits_per_hour: int = Field(1, ge=1)
    hours_per_user: int = Field(10, ge=1)
    total_share: float = Field(0.05, gt=0, lt=1)
    visits_clamp: int = Field(60, ge=1)


@dataclass(frozen=True)
class Terms:
    """What may be spent.

    budget: epsilon (pure) or zCDP, of any `window` consecutive hours.
    active: hours of a window in which a user can have been counted.
    """

    budget: float
    window: int
    active: int
    visits_per_hour: int
    pure: bool

    def counts_event(self, price: float) -> Drawn:
        """Noise on the counts of one hour for this price; a user's visits in an hour are at different places."""
        return self._event("counts of an hour", price, float(self.visits_per_hour) ** (1.0 if self.pure else 0.5))

    def sums_event(self, price: float) -> Drawn:
        """The same where places are grouped: all visits of a user in an hour may be in one group."""
        return self._event("counts of an hour in groups of places", price, float(self.visits_per_hour))

    def distance_event(self, price: float, places: int) -> Drawn:
        """Noise on the mean distance of an hour's counts from something known, for this price.

        Each of c visits moves one of the absolute differences by at most 1, and the mean by 1/places.
        """
        return self._event("distance of an hour from the last release", price, self.visits_per_hour / places)

    def _event(self, query: str, price: float, sensitivity: float) -> Drawn:
        if self.pure:
            return Laplace(query, sensitivity / price, sensitivity)
        return Gaussian(query, gaussian_sigma(price, sensitivity), sensitivity)


@dataclass(frozen=True)
class Charge:
    """An event that concerns what users did in one hour."""

    hour: int
    event: Event


@dataclass(frozen=True)
class Stream:
    """What a scheme releases of a stream, (places, hours), and what it was charged for each hour."""

    values: Floats
    charges: tuple[Charge, ...]


def agreed_terms(parameters: StreamParameters, hours: int, most_hours: int) -> tuple[Terms, Gaussian | None]:
    """The terms for series of so many hours, and for "week" the noise on the number of visits.

    most_hours: in which anything can be published, of the whole series; in a window, no more than its hours.
    """
    if parameters.unit == "w hours":
        if parameters.window > hours:
            raise BadInput(
                f"the window must be at most the {hours} hours of the traces, got {parameters.window}: lower it"
            )
        active = min(parameters.window, most_hours)
        return Terms(parameters.epsilon, parameters.window, active, parameters.visits_per_hour, True), None
    share = parameters.total_share
    events = share_budget(
        {"stream": 1.0, TOTAL: float(parameters.visits_clamp)}, {"stream": 1 - share, TOTAL: share}, parameters
    )
    stream, total = events["stream"], events[TOTAL]
    assert isinstance(total, Gaussian)
    active = min(parameters.hours_per_user, most_hours)
    return Terms(stream.rho, hours, active, parameters.visits_per_hour, False), total


def draw(noise: Noise, values: Floats, event: Drawn) -> Floats:
    """Values with the noise of an event."""
    return noise.laplace(values, event) if isinstance(event, Laplace) else noise.gaussian(values, event)


def expected_error(event: Drawn) -> float:
    """The mean absolute value of the noise."""
    return event.scale if isinstance(event, Laplace) else event.sigma * float(np.sqrt(2 / np.pi))


def price(event: Event, pure: bool) -> float:
    """What an event costs, in pure DP or in zCDP; refused where that is not known."""
    if not pure:
        return event.rho
    if not isinstance(event, Laplace):
        raise ValueError(f"only Laplace noise has a price in pure DP, got {event.kind}")
    return event.sensitivity / event.scale


def window_costs(charges: Sequence[Charge], terms: Terms, hours: int) -> Floats:
    """The most that a user can be charged in each window: its `active` dearest hours, added up."""
    hourly = np.zeros(hours)
    for charge in charges:
        hourly[charge.hour] += price(charge.event, terms.pure)
    windows = np.lib.stride_tricks.sliding_window_view(hourly, terms.window)
    dearest = np.sort(windows, axis=1)[:, terms.window - terms.active :]
    costs: Floats = dearest.sum(axis=1)
    return costs


def dearest_events(charges: Sequence[Charge], terms: Terms, hours: int) -> tuple[Event, ...]:
    """The events that the worst-off user is charged: those of the dearest hours of the dearest window.

    Refuses to go on if they cost more than the terms allow; the software is then at fault.
    """
    costs = window_costs(charges, terms, hours)
    if costs.max() > terms.budget * LAST_DIGITS:
        raise ArithmeticError(f"a window may cost {terms.budget:g}, got {costs.max():g}: refuse to publish")
    start = int(costs.argmax())
    hourly = np.zeros(terms.window)
    inside = [charge for charge in charges if start <= charge.hour < start + terms.window]
    for charge in inside:
        hourly[charge.hour - start] += price(charge.event, terms.pure)
    paid = set((np.argsort(-hourly, kind="stable")[: terms.active] + start).tolist())
    return tuple(charge.event for charge in inside if charge.hour in paid)


Chosen = TypeVar("Chosen", bound=StreamParameters)
StreamScheme = Callable[[Floats, Terms, Noise], Stream]


def stream_technique(
    name: str,
    parameters: type[Chosen],
    scheme_of: Callable[[Chosen], StreamScheme],
    promise: str,
    source: str,
    counted_of: Callable[[Chosen, int], Flags] = lambda _, hours: np.ones(hours, dtype=np.bool_),
) -> Technique[Chosen]:
    """Return the technique that publishes by a scheme.

    counted_of: which of so many hours can be published, where they are fixed beforehand; otherwise all.
    """

    def publish(traces: Traces, chosen: Chosen, seed: int) -> Published:
        return publish_stream(traces, chosen, seed, scheme_of(chosen), counted_of(chosen, traces.hours))

    return Technique(name, "density", "a user's week", promise, source, parameters, publish)


def publish_stream(
    traces: Traces, parameters: StreamParameters, seed: int, scheme: StreamScheme, counted: Flags
) -> Published:
    """Return what a scheme publishes of the traces, in the hours that are counted."""
    week = parameters.unit == "week"
    # A generator for each purpose: what one user draws must not depend on how many visits another has.
    of_visits, of_hours = (np.random.default_rng([seed, purpose]) for purpose in (1, 2))
    kept = truncate(
        at_hours(require_visits(traces), counted),
        parameters.hours_per_user if week else None,
        of_visits,
        of_hours,
        visits_per_hour=parameters.visits_per_hour,
    )
    terms, total_event = agreed_terms(parameters, traces.hours, most_counted(counted, parameters))
    noise = SimulatedNoise(seed)
    stream = scheme(kept.aggregate().astype(np.float64), terms, noise)
    events = dearest_events(stream.charges, terms, traces.hours)
    density = np.maximum(stream.values, 0.0)
    facts = {
        "protects": "a user's week" if week else f"{parameters.window} hours of a user",
        "hours charged": len({charge.hour for charge in stream.charges}),
    }
    if total_event is None:
        return Published(density, events=events, facts=facts)
    total = clamped_total(visits_of_users(traces), parameters.visits_clamp)
    visits = noise.gaussian(np.array([total], dtype=np.float64), total_event)
    return Published(scale_to_total(density, float(visits[0])), events=(*events, total_event), facts=facts)


def most_counted(counted: Flags, parameters: StreamParameters) -> int:
    """The most hours of a window that can be published."""
    window = len(counted) if parameters.unit == "week" else min(parameters.window, len(counted))
    return int(np.lib.stride_tricks.sliding_window_view(counted, window).sum(axis=1).max())
