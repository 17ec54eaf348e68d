"""Synthetic sequences from variable-length n-grams (Chen, Acs & Castelluccia 2012).

A tree of noisy gram counts is explored (`gram_tree.py`); a synthetic person starts at ^ and goes on from the longest
suffix of their path that the tree knows, until & or l_max visits.

Time is not an item in the paper, and the density is asked for by the hour. An item can be a place and a block of the
day; the hour of a visit is then drawn from a noisy profile of hours within its block. Of two visits only those in one
block keep their order. We tried that, and by default there is one block: places are the items, and all share the
profile. With three blocks there are nine times as many grams of two, noise in them makes every block as likely as any
other, and what is lost (MRE from .62 to 1.2 at epsilon 1) is far more than what day and night places could give.

The density is scaled to a noisy number of visits, as l_max takes visits away.

Constants are the best of a grid at epsilon 1 (least MRE − PC, mean over towns 1, 2 and 3, never town 0): l_max in 5,
10, 20, 40, n_max 2 or 3, repeats 1 or 2, blocks 1, 2, 3, 4, 6, threshold 0, .5, 1, 1.5, 2, 3, 4, first_share .2, .5,
.8, not in all combinations: l_max = 20, grams of two, counted once, one block, threshold 1, first_share .2.
"""

from collections.abc import Mapping

import numpy as np
from pydantic import Field

from density_assets.errors import BadInput
from density_assets.privacy.events import Event, Gaussian
from density_assets.privacy.noise import Noise, SimulatedNoise
from density_assets.research.approaches.technique import (
    Published,
    Statistic,
    Technique,
    measure_statistics,
    share_budget,
)
from density_assets.research.contributions import require_visits
from density_assets.research.traces.matrix import Ints, Traces
from density_assets.research.trajectories.gram_tree import Level, explore, level_sensitivity, with_marks
from density_assets.research.trajectories.gram_walks import block_of, generated, timed
from density_assets.research.trajectories.kept_sequences import kept_visits
from density_assets.research.trajectories.private_statistics import (
    DAY,
    Floats,
    SynthesisParameters,
    profile,
    visits,
)
from density_assets.research.trajectories.synthesis import (
    hour_weights,
    number_of_people,
    publication,
    synthetic,
)


class NGramParameters(SynthesisParameters):
    """What is fixed beforehand.

    l_max: visits of one person that are kept; n_max: tokens of the longest gram; repeats: how often a gram counts for
    one person. blocks: of the day, equally long. threshold: in standard deviations of a level's noise.
    first_share: of the budget, for single tokens; the longer grams share `longer_share` equally.
    """

    l_max: int = Field(20, ge=1)
    n_max: int = Field(2, ge=2, le=5)
    repeats: int = Field(1, ge=1)
    blocks: int = Field(1, ge=1, le=DAY)
    threshold: float = Field(1.0, ge=0)
    first_share: float = Field(0.2, gt=0, lt=1)
    longer_share: float = Field(0.35, gt=0, lt=1)


def level_name(order: int) -> str:
    """What the query for a level is called."""
    return f"grams of {order}"


def sensitivities(parameters: NGramParameters) -> dict[str, float]:
    """How far one person can move each query."""
    levels = range(1, parameters.n_max + 1)
    grams = {level_name(order): level_sensitivity(order, parameters.l_max, parameters.repeats) for order in levels}
    return grams | {"visits": float(parameters.visits_clamp), "profile": 1.0}


def shares(parameters: NGramParameters) -> dict[str, float]:
    """Of the budget, for each query."""
    longer = [level_name(order) for order in range(2, parameters.n_max + 1)]
    rest = {name: parameters.longer_share / len(longer) for name in longer}
    return {level_name(1): parameters.first_share, **rest, "visits": 0.05, "profile": 0.1}


def other_statistics(traces: Traces, parameters: NGramParameters) -> dict[str, Statistic]:
    """What is measured beside the grams."""
    return {"visits": visits(traces, parameters.visits_clamp), "profile": profile(traces)}


def sequences(traces: Traces, parameters: NGramParameters, seed: int) -> tuple[Ints, Ints]:
    """Person and token of what is kept, with marks."""
    if DAY % parameters.blocks:
        raise BadInput(f"blocks must divide the day into whole hours, got {parameters.blocks}: try 2, 3, 4, 6 or 8")
    user, place, hour = kept_visits(traces, parameters.l_max, seed)
    item = place * parameters.blocks + block_of(hour, parameters.blocks)
    return with_marks(user, item, traces.rois * parameters.blocks)


def explored(
    traces: Traces, parameters: NGramParameters, events: Mapping[str, Event], noise: Noise, seed: int
) -> list[Level]:
    """The noisy tree."""

    def measure(order: int, exact: Floats) -> Floats:
        event = events[level_name(order)]
        assert isinstance(event, Gaussian)
        return noise.gaussian(exact, event)

    person, token = sequences(traces, parameters, seed)
    levels = range(1, parameters.n_max + 1)
    bars = np.array([parameters.threshold * (events[level_name(order)].standard_deviation or 0.0) for order in levels])
    alphabet = traces.rois * parameters.blocks + 2
    # Counts of zero are below every bar, so that a bar of nothing still leaves out what noise made negative.
    return explore(person, token, alphabet, parameters.n_max, parameters.repeats, measure, np.maximum(bars, 1e-12))


def publish(traces: Traces, parameters: NGramParameters, seed: int) -> Published:
    """People who go on as the tree says."""
    noise = SimulatedNoise(seed)
    events = share_budget(sensitivities(parameters), shares(parameters), parameters)
    tree = explored(require_visits(traces), parameters, events, noise, seed)
    noisy = measure_statistics(other_statistics(traces, parameters), events, noise)
    random = np.random.default_rng([seed, 3])
    items = traces.rois * parameters.blocks
    count = number_of_people(tree[0].counts[:, items], parameters.times, traces)
    person, item = generated(tree, items, count, parameters.l_max, random)
    weights = hour_weights(noisy["profile"][:, 0], traces.hours)
    walked = synthetic(traces, *timed(person, item, parameters.blocks, weights, random))
    facts = {level_name(order): int((level.counts > 0).sum()) for order, level in enumerate(tree, start=1)}
    return publication(walked, float(noisy["visits"][0]), tuple(events.values()), facts)


N_GRAMS = Technique(
    name="n_grams",
    approach="trajectories",
    protects="a user's week",
    promise="(epsilon, delta) for all that a person did in the week; the trajectories are of nobody.",
    source="Chen, Acs & Castelluccia 2012",
    parameters=NGramParameters,
    publish=publish,
)
