"""Synthetic sequences from variable-length n-grams (Chen, Acs & Castelluccia 2012).

A tree of noisy gram counts is explored; a synthetic person starts at ^ and goes on from the longest suffix of their
path that the tree knows, until & or l_max visits.

The tree, and its cost for one person. A person's sequence is ^ x1 … xk &, k at most l_max, with a mark for its start
and one for its end. It has at most l_max + 2 tokens, hence l_max + 3 − n grams of n tokens. Level n of the tree holds
the grams of n tokens whose first n − 1 were expanded: those whose noisy count on level n − 1 was large.

Cost of the whole tree. What is expanded is decided by noisy counts, so a level is one more query on the same person,
chosen adaptively, and levels add up: a path from the root is charged for each of its nodes. Nodes of one level do not
add up: all grams of a person on a level together move its counts by l_max + 3 − n in L1, and by the root of `repeats`
times that in L2 if no gram counts more than `repeats` times for a person (`capped_sensitivity`). Counted as published,
without a cap, that is l_max + 3 − n, however few places somebody goes round. Noise of each level is fixed beforehand.
The gram ^ counts people: their number is paid for with the first level.

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

from collections.abc import Callable, Mapping
from dataclasses import dataclass

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
from density_assets.research.traces.matrix import Traces
from density_assets.research.trajectories.synthesis import (
    DAY,
    Rng,
    SynthesisParameters,
    capped_counts,
    capped_sensitivity,
    draw_hours,
    draw_outcomes,
    hour_weights,
    keep_visits,
    number_of_people,
    probabilities,
    profile,
    publication,
    synthetic,
    visits,
)
from density_assets.series import Floats, Ints

Measure = Callable[[int, Floats], Floats]  # noisy counts of a level


@dataclass(frozen=True)
class Level:
    """Children of expanded grams: codes of the grams, sorted, and noisy counts, (grams, alphabet).

    The code of a gram is its tokens as digits to the base of the alphabet.
    """

    contexts: Ints
    counts: Floats


def level_sensitivity(order: int, l_max: int, repeats: int) -> float:
    """How far (L2) one person can move the counts of all grams of so many tokens."""
    return capped_sensitivity(l_max + 3 - order, repeats)


def with_marks(person: Ints, item: Ints, items: int) -> tuple[Ints, Ints]:
    """Person and token of all sequences with their start (token `items`) and end (`items` + 1)."""
    named = np.unique(person)
    who = np.concatenate([named, person, named])
    token = np.concatenate([np.full(len(named), items), item, np.full(len(named), items + 1)])
    part = np.repeat([0, 1, 2], [len(named), len(person), len(named)])
    order = np.lexsort((np.arange(len(who)), part, who))
    return who[order], token[order]


def gram_counts(person: Ints, token: Ints, order: int, alphabet: int, repeats: int) -> tuple[Ints, Floats]:
    """Codes and capped counts of the grams of so many tokens that occur."""
    starts = np.arange(len(token) - order + 1)
    starts = starts[person[starts] == person[starts + order - 1]]
    code = np.zeros(len(starts), dtype=np.int64)
    for step in range(order):
        code = code * alphabet + token[starts + step]
    return capped_counts(person[starts], code, repeats)


def explore(
    person: Ints, token: Ints, alphabet: int, n_max: int, repeats: int, measure: Measure, bars: Floats
) -> list[Level]:
    """The levels of the tree, from single tokens to grams of at most n_max.

    measure: adds the noise of a level. bars: counts from which on a node of a level is large.
    """
    levels: list[Level] = []
    contexts, parents = np.zeros(1, dtype=np.int64), np.full(1, np.inf)  # the root: the empty gram
    for order in range(1, n_max + 1):
        exact = children(*gram_counts(person, token, order, alphabet, repeats), contexts, alphabet)
        noisy = measure(order, exact)
        large = np.where(noisy >= bars[order - 1], noisy, 0.0)
        level = Level(contexts, np.minimum(large, parents[:, None]))  # a child occurs no more often than its parent
        levels.append(level)
        contexts, parents = expand(level, alphabet)
        if not len(contexts):
            break
    return levels


def children(codes: Ints, counts: Floats, contexts: Ints, alphabet: int) -> Floats:
    """Exact counts of all children of the contexts, (contexts, alphabet): also of those that never occur."""
    row = np.minimum(np.searchsorted(contexts, codes // alphabet), len(contexts) - 1)
    below = contexts[row] == codes // alphabet
    table = np.zeros((len(contexts), alphabet))
    table[row[below], codes[below] % alphabet] = counts[below]
    return table


def expand(level: Level, alphabet: int) -> tuple[Ints, Floats]:
    """Codes and counts of the nodes that get children: the large ones that do not end a sequence."""
    row, token = np.nonzero(level.counts[:, : alphabet - 1] > 0)
    return level.contexts[row] * alphabet + token, level.counts[row, token]


def generate(tree: list[Level], items: int, count: int, l_max: int, random: Rng) -> tuple[Ints, Ints]:
    """Person and item of so many sequences, in order; everybody has at least one visit."""
    paths = np.full((count, l_max + 1), -1, dtype=np.int64)
    paths[:, 0] = items
    going = np.arange(count)
    for step in range(1, l_max + 1):
        recent = paths[going, max(0, step - len(tree) + 1) : step]  # no longer suffix is in the tree
        paths[going, step] = continue_paths(tree, recent, items, random, may_end=step > 1)
        going = going[paths[going, step] < items]
        if not len(going):
            break
    inside = (paths[:, 1:] >= 0) & (paths[:, 1:] < items)
    return np.nonzero(inside)[0], paths[:, 1:][inside]


def continue_paths(tree: list[Level], paths: Ints, items: int, random: Rng, may_end: bool) -> Ints:
    """The next token of each path, from the longest suffix that has children in the tree; the empty one always has."""
    following = np.full(len(paths), -1, dtype=np.int64)
    for length in reversed(range(min(len(tree), paths.shape[1] + 1))):
        waiting = np.flatnonzero(following < 0)
        table = _possible(tree[length].counts, items, may_end, at_root=length == 0)
        contexts, codes = tree[length].contexts, _suffix_codes(paths[waiting], length, items + 2)
        row = np.minimum(np.searchsorted(contexts, codes), len(contexts) - 1)
        known = (contexts[row] == codes) & (table.sum(axis=1) > 0)[row]
        following[waiting[known]] = draw_outcomes(probabilities(table), row[known], random)
    return following


def _possible(counts: Floats, items: int, may_end: bool, at_root: bool) -> Floats:
    """Counts of tokens that can follow; with noise that left no single token, all items are as likely."""
    table = counts.copy()
    table[:, items] = 0.0
    table[:, items + 1] *= may_end
    if at_root and not table.any():
        table[:, :items] = 1.0
    return table


def _suffix_codes(paths: Ints, length: int, alphabet: int) -> Ints:
    code = np.zeros(len(paths), dtype=np.int64)
    for token in paths[:, paths.shape[1] - length :].T:
        code = code * alphabet + token
    return code


def give_hours(person: Ints, item: Ints, blocks: int, weights: Floats, random: Rng) -> tuple[Ints, Ints, Ints]:
    """Person, place and hour: the items of a person's block get different hours of it, in their order."""
    place, block = np.divmod(item, blocks)
    found: list[tuple[Ints, Ints, Ints]] = []
    for each in range(blocks):
        hours = np.flatnonzero(block_of(np.arange(len(weights)), blocks) == each)
        mine = block == each
        wanted = np.bincount(person[mine], minlength=person.max(initial=0) + 1)
        nth = np.arange(mine.sum()) - (np.cumsum(wanted) - wanted)[person[mine]]
        fits = nth < len(hours)  # who has more items in a block than it has hours in the week loses them
        who, which = draw_hours(weights[hours], np.minimum(wanted, len(hours)), random)
        found.append((who, place[mine][fits], hours[which]))
    whos, places, times = zip(*found, strict=True)
    return np.concatenate(whos), np.concatenate(places), np.concatenate(times)


def block_of(hour: Ints, blocks: int) -> Ints:
    """The block of the day in which an hour lies."""
    return hour % DAY * blocks // DAY


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
    user, place, hour = keep_visits(traces, parameters.l_max, seed)
    item = place * parameters.blocks + block_of(hour, parameters.blocks)
    return with_marks(user, item, traces.rois * parameters.blocks)


def explore_traces(
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
    tree = explore_traces(require_visits(traces), parameters, events, noise, seed)
    noisy = measure_statistics(other_statistics(traces, parameters), events, noise)
    random = np.random.default_rng([seed, 3])
    items = traces.rois * parameters.blocks
    count = number_of_people(tree[0].counts[:, items], parameters.times, traces)
    person, item = generate(tree, items, count, parameters.l_max, random)
    weights = hour_weights(noisy["profile"][:, 0], traces.hours)
    walked = synthetic(traces, *give_hours(person, item, parameters.blocks, weights, random))
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
