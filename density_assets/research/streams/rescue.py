"""RescueDP (Wang et al. 2016): FAST's clock and filter, with budgets that adapt and small places counted together.

An hour in which a place is due goes through
1. budget: of what is left in the window, a part phi·ln(I + 1), at most p_max, and no more than a fifth of the budget;
   I is the interval since the last sample: who waits longer may spend more;
2. groups (`grouping.py`): places that were small and moved alike are counted together;
3. noise on the sum of each group, an equal part for each of its places;
4. the Kalman filter; 5. the next interval, max(1, I + theta·(1 − (D/lambda)²)), D the controlled error, lambda the
   error to expect of noise with all that is left.

Constants of the paper: PID .9/.1/0 over the last 3 samples, theta 10, phi .2, p_max .6, a fifth of the budget; groups
by correlation .5 and difference 25 over 3 samples. The others are the best of a grid at epsilon 1 for the week (least
MRE − PC, mean over towns 1, 2 and 3, never town 0): a in 10, 20, 40, places small up to 30, 100, 300, Q in .1, 1, 10,
100: a = 20, 100, Q = 10.

What is left is here counted for a user who may be anywhere: an hour costs what its dearest place costs. The paper
counts it for each place alone, which bounds the cost of a user who stays at one place, not of one who moves
(`feedback.py`). Budgets in zCDP are shared out by the same rules.
"""

from functools import partial

import numpy as np
from pydantic import Field

from density_assets.privacy.noise import Noise
from density_assets.research.approaches.technique import Published, Technique
from density_assets.research.streams.feedback import (
    Clock,
    Flags,
    appended,
    corrected,
    nothing_yet,
    on_clock,
    pid,
    predicted,
    unknown,
)
from density_assets.research.streams.grouping import Alike, group_labels
from density_assets.research.streams.publishing import publish_stream
from density_assets.research.streams.terms import (
    Charge,
    Floats,
    Ints,
    Stream,
    StreamParameters,
    Terms,
    draw,
    expected_error,
)
from density_assets.research.traces.matrix import Traces

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
    levels, errors = unknown(places, chosen.first_variance), nothing_yet(chosen.remembered, places)
    recent = nothing_yet(chosen.compared, places)
    interval, next_hour = np.ones(places), np.zeros(places)
    values, prices, charges = np.zeros((places, hours)), np.zeros(hours), []
    alike = Alike(chosen.small, chosen.correlated, chosen.close)
    for hour in range(hours):
        levels = predicted(levels, chosen.drift)
        due = next_hour <= hour
        remaining = left(prices, hour, terms)
        if due.any() and remaining > EXHAUSTED * terms.budget:
            wanted = wanted_prices(interval, remaining, terms, chosen)
            labels = group_labels(recent, due, alike)
            observed, variance, dearest = observe(counts[:, hour], labels, wanted, terms, noise)
            prices[hour] = dearest
            charges.append(Charge(hour, terms.sums_event(dearest)))
            before, levels = levels.values, corrected(levels, observed, variance)
            recent = appended(recent, due, levels.values)
            errors = appended(errors, due, on_clock(np.abs(levels.values - before), chosen.clock))
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


def publish(traces: Traces, parameters: RescueParameters, seed: int) -> Published:
    """RescueDP on the counts of truncated users."""
    return publish_stream(traces, parameters, seed, partial(rescue, chosen=parameters))


RESCUE_DP = Technique(
    name="rescue_dp",
    approach="density",
    protects="a user's week",
    promise=(
        "(epsilon, delta) for all that a user did in the week; with unit = 'w hours', pure epsilon for what a user did "
        "in w consecutive hours, which is weaker. As published the latter holds for users who stay at one place."
    ),
    source="Wang et al. 2016",
    parameters=RescueParameters,
    publish=publish,
)
