"""Four streams of Kellaris et al. 2014: Uniform, Sample, and two that publish only when something has changed.

Uniform   every hour gets an equal part of the budget.
Sample    one hour in so many is published with their whole budget, and repeated until the next.
BD        budget distribution: an hour that differs from the last release by more than the noise it would get is
          published with half of what is left in its window.
BA        budget absorption: such an hour takes its own equal part and those of the hours skipped before it; as many
          hours after it pay for that and publish nothing.

Whether an hour differs is itself looked up with noise, and paid for: a share of the budget, equal in each hour. Before
anything is released, the last release is an empty map. `terms.py` says what is promised, for w hours and for a week.
A week on its own is one window: BD has no old budget that returns, and spends a half, a quarter, an eighth.

Constants are the best of a grid at epsilon 1 for the week (least MRE − PC, mean over towns 1, 2 and 3, never town 0):
Uniform   a in 1, 2, 5, 10, 20, 40 and c in 1, 2, 3: a = 10, c = 1
Sample    a in 1, 2, 5, 10, c in 1, 2, every 2, 3, 4, 6, 12 or 24 hours: a = 5, c = 1, every 3
BD        a in 5, 10, 20, 40, comparisons .05, .2, .5: a = 20, .5
BA        a in 5, 10, 20, 40, comparisons .05, .2, .5, at most 1, 2, 4, 8 or 168 parts: a = 10, .05, and one part, which
          is no absorption; we take two, the next best that is (MRE 1.78, not 1.76; PC .11, not .13). Terms under which
          nothing is ever published, and the map is flat, have a smaller MRE (1.59) and were set aside

Beside them `k_threshold`, by which counts below k are not released (chapter, §3.3): the usual rule, and not private.
Counts of k and more are exact, so two of them that differ by one person give that person away, and noise is nowhere. A
reader who needs a number for a suppressed cell knows that it lies between 0 and k − 1. We take 0 by default, as maps
do that leave such cells blank; `suppressed` = "half" puts the middle of the range there.
"""

from collections.abc import Callable
from functools import partial
from typing import Literal

import numpy as np
from pydantic import Field

from density_assets.privacy.noise import Noise
from density_assets.research.approaches.technique import Parameters, Published, Technique
from density_assets.research.contributions import require_visits
from density_assets.research.streams.terms import (
    Charge,
    Stream,
    StreamParameters,
    Terms,
    draw,
    expected_error,
    stream_technique,
)
from density_assets.research.traces.matrix import Traces
from density_assets.series import Floats

Offer = Callable[[Floats, int], float]  # prices paid so far and the hour; what the hour may cost if it is published


class UniformParameters(StreamParameters):
    """Nothing to choose but the terms."""


class SampleParameters(StreamParameters):
    """every: hours from one release to the next."""

    every: int = Field(3, ge=1)
    hours_per_user: int = Field(5, ge=1)


class ChangeParameters(StreamParameters):
    """comparison_share: of the budget, for looking whether an hour has changed; one half as published."""

    comparison_share: float = Field(0.5, gt=0, lt=1)
    hours_per_user: int = Field(20, ge=1)


class AbsorptionParameters(ChangeParameters):
    """most_parts: parts, of one hour each, that one release may take; as published, those of a whole window (168)."""

    most_parts: int = Field(2, ge=1)
    comparison_share: float = Field(0.05, gt=0, lt=1)
    hours_per_user: int = Field(10, ge=1)


def sample(counts: Floats, terms: Terms, noise: Noise, every: int) -> Stream:
    """Each hour is as released last; releases are `every` hours apart, at equal prices."""
    event = terms.counts_event(terms.budget / terms.active)
    hours = np.arange(0, counts.shape[1], every)
    released = draw(noise, counts[:, hours], event)
    values = np.repeat(released, every, axis=1)[:, : counts.shape[1]]
    return Stream(values, tuple(Charge(int(hour), event) for hour in hours))


def budget_distribution(counts: Floats, terms: Terms, noise: Noise, comparison_share: float) -> Stream:
    """Half of what is left in the window, for each hour that has changed (Kellaris et al., §5.1)."""
    budget = (1 - comparison_share) * terms.budget

    def offer(prices: Floats, hour: int) -> float:
        return float(budget - prices[max(0, hour - terms.window + 1) : hour].sum()) / 2

    return _when_changed(counts, terms, noise, comparison_share, offer)


def budget_absorption(counts: Floats, terms: Terms, noise: Noise, comparison_share: float, most_parts: int) -> Stream:
    """Equal parts, saved up while nothing changes and paid back after a release (Kellaris et al., §5.2).

    A window costs at most all its parts; a user who is counted in a of its hours, at most a·most_parts of them.
    """
    part = (1 - comparison_share) * terms.budget / min(terms.window, terms.active * most_parts)

    def offer(prices: Floats, hour: int) -> float:
        published = np.flatnonzero(prices[:hour])
        # The last release used up its own part, those it had saved, and as many of the hours after it.
        paid_until = published[-1] + round(prices[published[-1]] / part) - 1 if len(published) else -1
        return max(0, min(hour - int(paid_until), most_parts, terms.window)) * part

    return _when_changed(counts, terms, noise, comparison_share, offer)


def _when_changed(counts: Floats, terms: Terms, noise: Noise, comparison_share: float, offer: Offer) -> Stream:
    """Publish an hour if it is further from the last release than noise at the price on offer would put it."""
    places, hours = counts.shape
    compare = terms.distance_event(comparison_share * terms.budget / terms.active, places)
    values, prices, charges = np.zeros((places, hours)), np.zeros(hours), []
    last = np.zeros(places)
    for hour in range(hours):
        price = offer(prices, hour)
        if price > 0:
            event = terms.counts_event(price)
            charges.append(Charge(hour, compare))
            distance = draw(noise, np.array([np.abs(counts[:, hour] - last).mean()]), compare)
            if distance[0] > expected_error(event):
                last, prices[hour] = draw(noise, counts[:, hour], event), price
                charges.append(Charge(hour, event))
        values[:, hour] = last
    return Stream(values, tuple(charges))


KELLARIS = "Kellaris, Papadopoulos, Xiao & Papadias 2014"
PROMISE = (
    "(epsilon, delta) for all that a user did in the week; with unit = 'w hours' as published, pure epsilon for "
    "what a user did in w consecutive hours, which is weaker."
)
UNIFORM = stream_technique("uniform", UniformParameters, lambda _: partial(sample, every=1), PROMISE, KELLARIS)
SAMPLE = stream_technique(
    "sample",
    SampleParameters,
    lambda chosen: partial(sample, every=chosen.every),
    PROMISE,
    KELLARIS,
    # Users are truncated within the hours that are published, which are known beforehand.
    lambda chosen, hours: np.arange(hours) % chosen.every == 0,
)
BUDGET_DISTRIBUTION = stream_technique(
    "budget_distribution",
    ChangeParameters,
    lambda chosen: partial(budget_distribution, comparison_share=chosen.comparison_share),
    PROMISE,
    KELLARIS,
)
BUDGET_ABSORPTION = stream_technique(
    "budget_absorption",
    AbsorptionParameters,
    lambda chosen: partial(budget_absorption, comparison_share=chosen.comparison_share, most_parts=chosen.most_parts),
    PROMISE,
    KELLARIS,
)


class KThresholdParameters(Parameters):
    """k, and what a reader takes a suppressed count for: 0, or (k − 1)/2."""

    k: int = Field(10, ge=1)
    suppressed: Literal["zero", "half"] = "zero"


def publish_large_counts(traces: Traces, parameters: KThresholdParameters, seed: int) -> Published:
    """Exact counts of all visits where they are at least k; nothing is drawn, so the seed does not matter."""
    counts = require_visits(traces).aggregate().astype(np.float64)
    hidden = counts < parameters.k
    instead = 0.0 if parameters.suppressed == "zero" else (parameters.k - 1) / 2
    share = float(hidden.mean())
    return Published(np.where(hidden, instead, counts), facts={"suppressed": share})


K_THRESHOLD = Technique(
    name="k_threshold",
    approach="density",
    protects="nobody",
    promise="Counts below k are not shown. Nothing is promised to anybody: differences of counts are exact.",
    source="Acs, Biczók & Castelluccia, §3.3",
    parameters=KThresholdParameters,
    publish=publish_large_counts,
)
