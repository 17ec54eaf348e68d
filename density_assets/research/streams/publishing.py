"""From traces to a published density, the same way for each stream: truncate, count, release, clip, scale.

Counts cannot be negative, and clipped noise adds up; truncation takes visits away. Both are mended where the promise
is about the week, by scaling to a noisy number of visits that is paid for. For windows of hours no such number is
within the promise at a price worth paying, and the stream stays as published.
"""

from collections.abc import Callable

import numpy as np

from density_assets.privacy.noise import Noise, SimulatedNoise
from density_assets.research.approaches.technique import Published
from density_assets.research.streams.terms import (
    Floats,
    Stream,
    StreamParameters,
    Terms,
    agreed_terms,
    dearest_events,
)
from density_assets.research.streams.truncation import Flags, truncated
from density_assets.research.traces.matrix import Traces

Scheme = Callable[[Floats, Terms, Noise], Stream]


def publish_stream(
    traces: Traces, parameters: StreamParameters, seed: int, scheme: Scheme, counted: Flags | None = None
) -> Published:
    """What a scheme publishes of the traces.

    counted: hours that can be published, where they are fixed beforehand; otherwise all.
    """
    counted = np.ones(traces.hours, dtype=np.bool_) if counted is None else counted
    week = parameters.unit == "week"
    kept = truncated(traces, parameters.visits_per_hour, parameters.hours_per_user if week else None, counted, seed)
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
    visits = noise.gaussian(clamped_visits(traces, parameters.visits_clamp), total_event)
    return Published(scaled(density, float(visits[0])), events=(*events, total_event), facts=facts)


def most_counted(counted: Flags, parameters: StreamParameters) -> int:
    """The most hours of a window that can be published."""
    window = len(counted) if parameters.unit == "week" else min(parameters.window, len(counted))
    return int(np.lib.stride_tricks.sliding_window_view(counted, window).sum(axis=1).max())


def clamped_visits(traces: Traces, clamp: int) -> Floats:
    """How many visits there are, counting at most `clamp` of each user; one number."""
    return np.array([np.minimum(np.diff(traces.matrix.indptr), clamp).sum()], dtype=np.float64)


def scaled(density: Floats, total: float) -> Floats:
    """The density with this total; all places and hours alike if nothing is left of it."""
    found = density.sum()
    if found <= 0:
        return np.full(density.shape, max(total, 0.0) / density.size)
    return np.asarray(density * (max(total, 0.0) / found))
