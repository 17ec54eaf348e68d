"""FAST (Fan & Xiong 2012): sample a stream when it changes, and filter the noise out of what was sampled.

How many samples M a place may have is fixed first, and each gets an equal part of the budget. Between samples the
Kalman filter of each place repeats its level. The interval I to the next sample grows while the filter is right and
shrinks when it is not: I + theta·(1 − exp((D − xi)/xi)) hours, at least one, for a controlled error D (`feedback.py`,
which also says what clocks there are). The error at a sample is how far it moved the level, relative to the level.

With a common clock, a user who is counted in a hours is charged for at most min(a, M) samples. With a clock for each
place, M bounds nothing for a user who moves, and each sample costs 1/a of the budget.

Constants: xi 0.1, theta 5, errors over the last five samples, as in the authors' experiments. The others are the best
of a grid at epsilon 1 for the week (least MRE − PC, mean over towns 1, 2 and 3, never town 0): a in 5, 10, 20, M in 24,
48, 168, Q in 1, 10, 30, 100: a = 10, M = 168, Q = 30. So sampling does not pay for a user's week: once a user is
counted in ten hours, fewer samples than hours save nothing, and the filter does the work.
"""

from functools import partial

import numpy as np
from pydantic import Field

from density_assets.privacy.noise import Noise
from density_assets.research.approaches.technique import Published, Technique
from density_assets.research.streams.feedback import (
    Clock,
    appended,
    corrected,
    nothing_yet,
    on_clock,
    pid,
    predicted,
    unknown,
)
from density_assets.research.streams.publishing import publish_stream
from density_assets.research.streams.terms import Charge, Floats, Stream, StreamParameters, Terms, draw
from density_assets.research.traces.matrix import Traces

LEAST_LEVEL = 1.0  # below which errors are no longer relative
STEEPEST = 50.0  # exponent beyond which an interval is one hour anyway


class FastParameters(StreamParameters):
    """What FAST fixes beforehand.

    samples: M, of each place over the whole series.
    drift: Q, by which the variance of a level grows in an hour. first_variance: P before the first sample.
    set_point, gain, remembered: xi, theta and the samples whose errors are averaged.
    """

    samples: int = Field(168, ge=1)
    drift: float = Field(30.0, gt=0)
    first_variance: float = Field(100.0, gt=0)
    set_point: float = Field(0.1, gt=0)
    gain: float = Field(5.0, gt=0)
    remembered: int = Field(5, ge=1)
    clock: Clock = "common"


def fast(counts: Floats, terms: Terms, noise: Noise, chosen: FastParameters) -> Stream:
    """The filtered levels of all hours."""
    places, hours = counts.shape
    charged = min(terms.active, chosen.samples) if chosen.clock == "common" else terms.active
    event = terms.counts_event(terms.budget / charged)
    variance = float(event.standard_deviation) ** 2
    levels, errors = unknown(places, chosen.first_variance), nothing_yet(chosen.remembered, places)
    interval, next_hour, taken = np.ones(places), np.zeros(places), np.zeros(places, dtype=np.int64)
    values, charges = np.zeros((places, hours)), []
    for hour in range(hours):
        levels = predicted(levels, chosen.drift)
        due = (next_hour <= hour) & (taken < chosen.samples)
        if due.any():
            before = levels.values
            levels = corrected(levels, draw(noise, counts[:, hour], event), np.where(due, variance, np.inf))
            charges.append(Charge(hour, event))
            error = np.abs(levels.values - before) / np.maximum(levels.values, LEAST_LEVEL)
            errors = appended(errors, due, on_clock(error, chosen.clock))
            interval = np.where(due, _next_interval(interval, pid(errors), chosen), interval)
            next_hour = np.where(due, hour + np.floor(interval), next_hour)
            taken = taken + due
        values[:, hour] = levels.values
    return Stream(values, tuple(charges))


def _next_interval(interval: Floats, error: Floats, chosen: FastParameters) -> Floats:
    excess = np.minimum((error - chosen.set_point) / chosen.set_point, STEEPEST)
    longer: Floats = np.maximum(1.0, interval + chosen.gain * (1 - np.exp(excess)))
    return longer


def publish(traces: Traces, parameters: FastParameters, seed: int) -> Published:
    """FAST on the counts of truncated users."""
    return publish_stream(traces, parameters, seed, partial(fast, chosen=parameters))


FAST = Technique(
    name="fast",
    approach="density",
    protects="a user's week",
    promise=(
        "(epsilon, delta) for all that a user did in the week; with unit = 'w hours', pure epsilon for what a user did "
        "in w consecutive hours, which is weaker. As published: for one series in which a user is counted once."
    ),
    source="Fan & Xiong 2012",
    parameters=FastParameters,
    publish=publish,
)
