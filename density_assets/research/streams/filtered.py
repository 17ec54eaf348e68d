"""FAST and RescueDP: streams that are sampled often while things change, with a filter for each place.

Kalman filter for a constant level (Fan & Xiong 2012): x stays as it is, its variance P grows by Q each hour; a noisy
observation z of variance R moves it by K·(z − x), K = P/(P + R), and P becomes (1 − K)·P. R is the variance of noise we
add ourselves, Q a constant chosen beforehand: both public. A public re-implementation reads Q off the raw stream, and
so releases a function of everybody's data that nobody paid for.

PID controller: of the errors E at the samples so far, .9 of the last, .1 of the mean over the last few, and 0 of its
slope. Errors are computed from released values only.

Clocks. As published each place has its own clock and its own budget, and the sum over a place's hours is bounded. A
user who moves is then charged by another place each hour, at hours of its own, and the bound does not hold for them:
it protects people who stay. With a common clock all places are sampled in the same hours, as told by their mean error,
and the sum over hours bounds what any path costs. With clocks of their own, an hour must be charged at its dearest
place, and hours in which no place is due become rare. The common clock is the default.

FAST (Fan & Xiong 2012): sample a stream when it changes, and filter the noise out of what was sampled
------------------------------------------------------------------------------------------------------
How many samples M a place may have is fixed first, and each gets an equal part of the budget. Between samples the
Kalman filter of each place repeats its level. The interval I to the next sample grows while the filter is right and
shrinks when it is not: I + theta·(1 − exp((D − xi)/xi)) hours, at least one, for a controlled error D. The error at a
sample is how far it moved the level, relative to the level.

With a common clock, a user who is counted in a hours is charged for at most min(a, M) samples. With a clock for each
place, M bounds nothing for a user who moves, and each sample costs 1/a of the budget.

Constants: xi 0.1, theta 5, errors over the last five samples, as in the authors' experiments. The others are the best
of a grid at epsilon 1 for the week (least MRE − PC, mean over towns 1, 2 and 3, never town 0): a in 5, 10, 20, M in 24,
48, 168, Q in 1, 10, 30, 100: a = 10, M = 168, Q = 30. So sampling does not pay for a user's week: once a user is
counted in ten hours, fewer samples than hours save nothing, and the filter does the work.

RescueDP (Wang et al. 2016): FAST's clock and filter, with budgets that adapt and small places counted together
--------------------------------------------------------------------------------------------------------------
Small places that moved alike, by released values, are counted together. A place is expected to be as large as the mean
of its last samples. Places that are large, or have too few samples, stay alone. The others are sorted by size; the
smallest founds a group, and takes in those after it that are close in size and correlated with it, until the group is
large; then the next founds one.

An hour in which a place is due goes through
1. budget: of what is left in the window, a part phi·ln(I + 1), at most p_max, and no more than a fifth of the budget;
   I is the interval since the last sample: who waits longer may spend more;
2. groups: places that were small and moved alike are counted together;
3. noise on the sum of each group, an equal part for each of its places;
4. the Kalman filter; 5. the next interval, max(1, I + theta·(1 − (D/lambda)²)), D the controlled error, lambda the
   error to expect of noise with all that is left.

Constants of the paper: PID .9/.1/0 over the last 3 samples, theta 10, phi .2, p_max .6, a fifth of the budget; groups
by correlation .5 and difference 25 over 3 samples. The others are the best of a grid at epsilon 1 for the week (least
MRE − PC, mean over towns 1, 2 and 3, never town 0): a in 10, 20, 40, places small up to 30, 100, 300, Q in .1, 1, 10,
100: a = 20, 100, Q = 10.

What is left is here counted for a user who may be anywhere: an hour costs what its dearest place costs. The paper
counts it for each place alone, which bounds the cost of a user who stays at one place, not of one who moves.
Budgets in zCDP are shared out by the same rules.
"""

from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from pydantic import Field

from density_assets.privacy.noise import Noise
from density_assets.research.streams.terms import (
    Charge,
    Stream,
    StreamParameters,
    Terms,
    draw,
    expected_error,
    stream_technique,
)
from density_assets.series import Flags, Floats, Ints

Clock = Literal["common", "per place"]
PROPORTIONAL, INTEGRAL = 0.9, 0.1  # the third gain, of the slope, is 0 in both papers' experiments


@dataclass(frozen=True)
class Levels:
    """Levels of all places as the filter sees them, and their variances."""

    values: Floats
    variance: Floats


def unknown_levels(places: int, variance: float) -> Levels:
    """Before anything was seen: empty, give or take."""
    return Levels(np.zeros(places), np.full(places, variance))


def predict_levels(levels: Levels, drift: float) -> Levels:
    """The levels after an hour."""
    return Levels(levels.values, levels.variance + drift)


def correct_levels(levels: Levels, observed: Floats, noise_variance: Floats) -> Levels:
    """The levels after noisy observations; a place with infinite noise was not observed."""
    gain = levels.variance / (levels.variance + noise_variance)
    return Levels(levels.values + gain * (observed - levels.values), levels.variance * (1 - gain))


def no_values(remembered: int, places: int) -> Floats:
    """The last few values of each place, the newest last: none so far."""
    return np.full((remembered, places), np.nan)


def append_values(past: Floats, due: Flags, newest: Floats) -> Floats:
    """The last few values after one more at the places that were due."""
    return np.where(due, np.vstack([past[1:], newest]), past)


def pid(errors: Floats) -> Floats:
    """The controlled error of each place, from its last few; 0 for a place without any."""
    seen = ~np.isnan(errors)
    mean = np.where(seen, errors, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    controlled: Floats = PROPORTIONAL * np.nan_to_num(errors[-1]) + INTEGRAL * mean
    return controlled


def on_clock(error: Floats, clock: Clock) -> Floats:
    """The error that each place's clock goes by."""
    return np.full(error.shape, error.mean()) if clock == "common" else error


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
    levels, errors = unknown_levels(places, chosen.first_variance), no_values(chosen.remembered, places)
    interval, next_hour, taken = np.ones(places), np.zeros(places), np.zeros(places, dtype=np.int64)
    values, charges = np.zeros((places, hours)), []
    for hour in range(hours):
        levels = predict_levels(levels, chosen.drift)
        due = (next_hour <= hour) & (taken < chosen.samples)
        if due.any():
            before = levels.values
            levels = correct_levels(levels, draw(noise, counts[:, hour], event), np.where(due, variance, np.inf))
            charges.append(Charge(hour, event))
            error = np.abs(levels.values - before) / np.maximum(levels.values, LEAST_LEVEL)
            errors = append_values(errors, due, on_clock(error, chosen.clock))
            interval = np.where(due, _next_interval(interval, pid(errors), chosen), interval)
            next_hour = np.where(due, hour + np.floor(interval), next_hour)
            taken = taken + due
        values[:, hour] = levels.values
    return Stream(values, tuple(charges))


def _next_interval(interval: Floats, error: Floats, chosen: FastParameters) -> Floats:
    excess = np.minimum((error - chosen.set_point) / chosen.set_point, STEEPEST)
    longer: Floats = np.maximum(1.0, interval + chosen.gain * (1 - np.exp(excess)))
    return longer


FAST = stream_technique(
    "fast",
    FastParameters,
    lambda chosen: partial(fast, chosen=chosen),
    (
        "(epsilon, delta) for all that a user did in the week; with unit = 'w hours', pure epsilon for what a user did "
        "in w consecutive hours, which is weaker. As published: for one series in which a user is counted once."
    ),
    "Fan & Xiong 2012",
)


@dataclass(frozen=True)
class Alike:
    """Thresholds: a size from which on a place or group is large, a correlation, and a difference of sizes."""

    small: float
    correlated: float
    close: float


def group_labels(recent: Floats, due: Flags, alike: Alike) -> Ints:
    """A group for each place that is due, numbered from 0; −1 for the others.

    recent: the last samples of each place, (samples, places); nan where there are fewer.
    """
    size = recent.mean(axis=0)
    alone = due & ~(size <= alike.small)  # also where the size is not known
    labels = np.full(len(due), -1)
    labels[alone] = np.arange(alone.sum())
    waiting = np.flatnonzero(due & ~alone)
    waiting = waiting[np.argsort(size[waiting], kind="stable")]
    correlation = correlations(np.nan_to_num(recent))
    for label in range(int(alone.sum()), len(due)):
        if not len(waiting):
            break
        founder, others = waiting[0], waiting[1:]
        similar = (correlation[founder, others] > alike.correlated) & (size[others] - size[founder] < alike.close)
        before = size[founder] + np.cumsum(np.where(similar, size[others], 0.0)) - np.where(similar, size[others], 0.0)
        members = similar & (before < alike.small)
        labels[founder] = labels[others[members]] = label
        waiting = others[~members]
    return labels


def correlations(series: Floats) -> Floats:
    """Pearson correlations of columns; 0 where one is constant."""
    centred = series - series.mean(axis=0)
    norm = np.linalg.norm(centred, axis=0)
    unit = np.divide(centred, norm, out=np.zeros_like(centred), where=norm > 0)
    correlation: Floats = unit.T @ unit
    return correlation


LARGEST_PART = 1 / 5  # of the budget, in one hour
EXHAUSTED = 1e-9  # of the budget: what is left is not worth a sample


class RescueParameters(StreamParameters):
    """What RescueDP fixes beforehand.

    remembered, gain: samples of the PID controller, and theta. part_scale, largest_share: phi and p_max.
    small, correlated, close, compared: thresholds of the groups, on the last so many samples.
    drift, first_variance: Q and the first P of the filter.
    """

    remembered: int = Field(3, ge=1)
    gain: float = Field(10.0, gt=0)
    part_scale: float = Field(0.2, gt=0)
    largest_share: float = Field(0.6, gt=0, lt=1)
    small: float = Field(100.0, ge=0)
    correlated: float = Field(0.5, ge=-1, le=1)
    close: float = Field(25.0, gt=0)
    compared: int = Field(3, ge=2)
    drift: float = Field(10.0, gt=0)
    first_variance: float = Field(100.0, gt=0)
    clock: Clock = "common"
    hours_per_user: int = Field(20, ge=1)


def rescue(counts: Floats, terms: Terms, noise: Noise, chosen: RescueParameters) -> Stream:
    """The filtered levels of all hours."""
    places, hours = counts.shape
    levels, errors = unknown_levels(places, chosen.first_variance), no_values(chosen.remembered, places)
    recent = no_values(chosen.compared, places)
    interval, next_hour = np.ones(places), np.zeros(places)
    values, prices, charges = np.zeros((places, hours)), np.zeros(hours), []
    alike = Alike(chosen.small, chosen.correlated, chosen.close)
    for hour in range(hours):
        levels = predict_levels(levels, chosen.drift)
        due = next_hour <= hour
        remaining = left(prices, hour, terms)
        if due.any() and remaining > EXHAUSTED * terms.budget:
            wanted = wanted_prices(interval, remaining, terms, chosen)
            labels = group_labels(recent, due, alike)
            observed, variance, dearest = observe(counts[:, hour], labels, wanted, terms, noise)
            prices[hour] = dearest
            charges.append(Charge(hour, terms.sums_event(dearest)))
            before, levels = levels.values, correct_levels(levels, observed, variance)
            recent = append_values(recent, due, levels.values)
            errors = append_values(errors, due, on_clock(np.abs(levels.values - before), chosen.clock))
            then_left = max(left(prices, hour + 1, terms), EXHAUSTED * terms.budget)
            to_expect = expected_error(terms.sums_event(then_left))
            longer = interval + chosen.gain * (1 - (pid(errors) / to_expect) ** 2)
            interval = np.where(due, np.maximum(1.0, longer), interval)
            next_hour = np.where(due, hour + np.floor(interval), next_hour)
        values[:, hour] = levels.values
    return Stream(values, tuple(charges))


def left(prices: Floats, hour: int, terms: Terms) -> float:
    """What the window that ends with this hour has not spent; prices are those of each hour's dearest place."""
    return float(terms.budget - prices[max(0, hour - terms.window + 1) : hour].sum())


def wanted_prices(interval: Floats, remaining: float, terms: Terms, chosen: RescueParameters) -> Floats:
    """What each place would spend now."""
    share = np.minimum(chosen.part_scale * np.log(interval + 1), chosen.largest_share)
    return np.minimum(share * remaining, LARGEST_PART * terms.budget)


def observe(counts: Floats, labels: Ints, wanted: Floats, terms: Terms, noise: Noise) -> tuple[Floats, Floats, float]:
    """Noisy sums of groups, shared out equally; the variance of each part; and the price of the dearest group.

    labels: the group of each place, −1 for those that are not due. A group pays what its most modest place wants.
    """
    due: Flags = labels >= 0
    groups = int(labels.max()) + 1
    sums = np.bincount(labels[due], weights=counts[due], minlength=groups)
    sizes = np.bincount(labels[due], minlength=groups)
    price = np.full(groups, np.inf)
    np.minimum.at(price, labels[due], wanted[due])
    noisy, deviation = np.zeros(groups), np.zeros(groups)
    for value in np.unique(price):
        event, same = terms.sums_event(float(value)), price == value
        noisy[same], deviation[same] = draw(noise, sums[same], event), float(event.standard_deviation)
    observed = np.where(due, (noisy / sizes)[labels], 0.0)
    variance = np.where(due, ((deviation / sizes) ** 2)[labels], np.inf)
    return observed, variance, float(price.max())


RESCUE_DP = stream_technique(
    "rescue_dp",
    RescueParameters,
    lambda chosen: partial(rescue, chosen=chosen),
    (
        "(epsilon, delta) for all that a user did in the week; with unit = 'w hours', pure epsilon for what a user did "
        "in w consecutive hours, which is weaker. As published the latter holds for users who stay at one place."
    ),
    "Wang et al. 2016",
)
