"""What the adversary knows beforehand, as the groups she trains on and is challenged with. Pyrgelis et al., §2.2.

Groups are rows of a sparse matrix over users. Half of them hold the victim; all have one size, so that size tells
nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from density_assets.errors import BadInput
from density_assets.research.traces.matrix import Matrix
from density_assets.research.traces.recipe import Prior

Ints = NDArray[np.int64]
TRAINING = 0.8  # of the samples, where training and challenge are drawn alike (§3.2)
PRIORS: tuple[Prior, ...] = ("subset_of_locations", "same_groups", "different_groups")


@dataclass(frozen=True)
class Seen:
    """Groups whose aggregates are seen in some weeks, and whether the victim is among them."""

    weeks: tuple[int, ...]
    members: Matrix
    holds: NDArray[np.bool_]


@dataclass(frozen=True)
class Game:
    """What the adversary trains on and what she is challenged with."""

    training: Seen
    challenge: Seen


def subset_of_locations(
    users: int, victim: int, *, share: float, size: int, samples: int, rng: np.random.Generator
) -> Game:
    """She knows the traces of a share of the users, the victim's among them, in the week of the challenge itself."""
    known = max(round(share * users), 3)
    others = rng.permutation(np.delete(np.arange(users), victim))[: known - 1]
    seen = _balanced(users, victim, others, min(size, len(others)), samples, (0,), rng)
    order = rng.permutation(samples)
    cut = round(TRAINING * samples)
    return Game(_part(seen, order[:cut]), _part(seen, order[cut:]))


def past_groups(
    users: int, victim: int, *, weeks: int, size: int, groups: int, same: bool, rng: np.random.Generator
) -> Game:
    """She knows who was in groups seen in all weeks but the last, and is challenged on the last: the same or others."""
    if weeks < 2:
        raise BadInput(f"the priors about past groups need at least two weeks of traces, got {weeks}")
    others = np.delete(np.arange(users), victim)
    size = min(size, len(others))
    training = _balanced(users, victim, others, size, groups, tuple(range(weeks - 1)), rng)
    challenge = training if same else _balanced(users, victim, others, size, groups, (), rng)
    return Game(training, Seen((weeks - 1,), challenge.members, challenge.holds))


def one_more(users: int, victim: int, *, size: int, samples: int, rng: np.random.Generator) -> Game:
    """Groups of `size` others, half of them with the victim added: neighbours as differential privacy means them."""
    others = np.delete(np.arange(users), victim)
    holds = np.arange(samples) % 2 == 0
    members = _with_victim(_drawn(users, others, np.full(samples, min(size, len(others))), rng), victim, holds)
    cut = round(TRAINING * samples)
    seen = Seen((0,), members, holds)
    return Game(_part(seen, np.arange(cut)), _part(seen, np.arange(cut, samples)))


def _balanced(
    users: int, victim: int, others: Ints, size: int, count: int, weeks: tuple[int, ...], rng: np.random.Generator
) -> Seen:
    holds = np.arange(count) % 2 == 0
    members = _with_victim(_drawn(users, others, size - holds.astype(np.int64), rng), victim, holds)
    return Seen(weeks, members, holds)


def _drawn(users: int, pool: Ints, sizes: Ints, rng: np.random.Generator) -> Matrix:
    """One random group of each size from the pool, as rows."""
    rank = np.argsort(rng.random((len(sizes), len(pool)), dtype=np.float32), axis=1)
    row, column = np.nonzero(np.arange(len(pool)) < sizes[:, None])
    chosen = pool[rank[row, column]]
    return csr_array((np.ones(len(row), np.int32), (row, chosen)), shape=(len(sizes), users))


def _with_victim(members: Matrix, victim: int, holds: NDArray[np.bool_]) -> Matrix:
    rows = np.flatnonzero(holds)
    one = csr_array((np.ones(len(rows), np.int32), (rows, np.full(len(rows), victim))), shape=members.shape)
    return csr_array(members + one)


def _part(seen: Seen, rows: Sequence[Any] | NDArray[Any]) -> Seen:
    return Seen(seen.weeks, seen.members[rows], seen.holds[rows])
