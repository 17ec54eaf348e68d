"""Walking through a tree of noisy grams, and giving the visits of a walk their hours: nothing here sees the data."""

import numpy as np

from density_assets.research.traces.matrix import Ints
from density_assets.research.trajectories.gram_tree import Level
from density_assets.research.trajectories.private_statistics import DAY, Floats
from density_assets.research.trajectories.synthesis import Rng, drawn, drawn_hours, probabilities


def generated(tree: list[Level], items: int, count: int, l_max: int, random: Rng) -> tuple[Ints, Ints]:
    """Person and item of so many sequences, in order; everybody has at least one visit."""
    paths = np.full((count, l_max + 1), -1, dtype=np.int64)
    paths[:, 0] = items
    going = np.arange(count)
    for step in range(1, l_max + 1):
        recent = paths[going, max(0, step - len(tree) + 1) : step]  # no longer suffix is in the tree
        paths[going, step] = continued(tree, recent, items, random, may_end=step > 1)
        going = going[paths[going, step] < items]
        if not len(going):
            break
    inside = (paths[:, 1:] >= 0) & (paths[:, 1:] < items)
    return np.nonzero(inside)[0], paths[:, 1:][inside]


def continued(tree: list[Level], paths: Ints, items: int, random: Rng, may_end: bool) -> Ints:
    """The next token of each path, from the longest suffix that has children in the tree; the empty one always has."""
    following = np.full(len(paths), -1, dtype=np.int64)
    for length in reversed(range(min(len(tree), paths.shape[1] + 1))):
        waiting = np.flatnonzero(following < 0)
        table = _possible(tree[length].counts, items, may_end, at_root=length == 0)
        contexts, codes = tree[length].contexts, _suffix_codes(paths[waiting], length, items + 2)
        row = np.minimum(np.searchsorted(contexts, codes), len(contexts) - 1)
        known = (contexts[row] == codes) & (table.sum(axis=1) > 0)[row]
        following[waiting[known]] = drawn(probabilities(table), row[known], random)
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


def timed(person: Ints, item: Ints, blocks: int, weights: Floats, random: Rng) -> tuple[Ints, Ints, Ints]:
    """Person, place and hour: the items of a person's block get different hours of it, in their order."""
    place, block = np.divmod(item, blocks)
    found: list[tuple[Ints, Ints, Ints]] = []
    for each in range(blocks):
        hours = np.flatnonzero(block_of(np.arange(len(weights)), blocks) == each)
        mine = block == each
        wanted = np.bincount(person[mine], minlength=person.max(initial=0) + 1)
        nth = np.arange(mine.sum()) - (np.cumsum(wanted) - wanted)[person[mine]]
        fits = nth < len(hours)  # who has more items in a block than it has hours in the week loses them
        who, which = drawn_hours(weights[hours], np.minimum(wanted, len(hours)), random)
        found.append((who, place[mine][fits], hours[which]))
    whos, places, times = zip(*found, strict=True)
    return np.concatenate(whos), np.concatenate(places), np.concatenate(times)


def block_of(hour: Ints, blocks: int) -> Ints:
    """The block of the day in which an hour lies."""
    return hour % DAY * blocks // DAY
