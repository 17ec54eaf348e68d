"""The exploration tree of variable-length n-grams (Chen, Acs & Castelluccia 2012), and its cost for one person.

A person's sequence is ^ x1 … xk &, k at most l_max, with a mark for its start and one for its end. It has at most
l_max + 2 tokens, hence l_max + 3 − n grams of n tokens. Level n of the tree holds the grams of n tokens whose first
n − 1 were expanded: those whose noisy count on level n − 1 was large.

Cost of the whole tree. What is expanded is decided by noisy counts, so a level is one more query on the same person,
chosen adaptively, and levels add up: a path from the root is charged for each of its nodes. Nodes of one level do not
add up: all grams of a person on a level together move its counts by l_max + 3 − n in L1, and by the root of `repeats`
times that in L2 if no gram counts more than `repeats` times for a person (`capped_sensitivity`). Counted as published,
without a cap, that is l_max + 3 − n, however few places somebody goes round. Noise of each level is fixed beforehand.
The gram ^ counts people: their number is paid for with the first level.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from density_assets.research.traces.matrix import Ints
from density_assets.research.trajectories.kept_sequences import capped_counts, capped_sensitivity
from density_assets.research.trajectories.private_statistics import Floats

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
        contexts, parents = expanded(level, alphabet)
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


def expanded(level: Level, alphabet: int) -> tuple[Ints, Floats]:
    """Codes and counts of the nodes that get children: the large ones that do not end a sequence."""
    row, token = np.nonzero(level.counts[:, : alphabet - 1] > 0)
    return level.contexts[row] * alphabet + token, level.counts[row, token]
