"""What a query is: some people, some places, some hours, and the number of visits that fall into all three.

The hidden data are boolean: bit (user, place, hour) says whether the user was there. A query names a subset of bits
and its answer is their sum. The chapter's Q(S_L, S_T) sums over all users (§3), so users are exchangeable and only
counts of nobody or of everybody disclose a visit; auditing has a meaning because people can be chosen by what they
did (§1.1.2). Whoever asks is taken to know who satisfies such a predicate.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from density_assets.errors import BadInput, some
from density_assets.research.traces.matrix import Matrix, Traces

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Cube:
    """The shape of the hidden bits; bit number (user·places + place)·hours + hour."""

    users: int
    places: int
    hours: int

    @property
    def bits(self) -> int:
        """How many bits are hidden."""
        return self.users * self.places * self.hours


def cube_of(traces: Traces) -> Cube:
    """The bits that traces hold."""
    return Cube(len(traces.users), traces.rois, traces.hours)


def was_at(traces: Traces, places: Sequence[int], hours: Sequence[int] | None = None) -> Bools:
    """The predicate "was at one of the places in one of the hours" (any hour if none is named), for every user."""
    columns = _columns(cube_of(traces), places, range(traces.hours) if hours is None else hours)
    return np.asarray(traces.matrix[:, columns].sum(axis=1)).ravel() > 0


def query_bits(cube: Cube, who: Bools, places: Sequence[int], hours: Sequence[int]) -> Ints:
    """The sorted bits that a query covers: the people of a predicate at each of the places in each of the hours."""
    if who.shape != (cube.users,):
        raise BadInput(f"a predicate must say yes or no for each of {cube.users} users, got {who.shape} values")
    columns = _columns(cube, places, hours)
    if not who.any():
        raise BadInput("a query must cover at least one visit, got a predicate that nobody satisfies: widen it")
    return (np.flatnonzero(who)[:, None] * (cube.places * cube.hours) + columns).ravel()


def query_rows(queries: Sequence[Ints], bits: int) -> Matrix:
    """Queries as the rows of a sparse 0/1 matrix over the bits."""
    for bit_numbers in queries:
        _known("bits", bit_numbers, bits)
    ends = np.cumsum([0, *(len(np.unique(one)) for one in queries)])
    indices = np.concatenate([np.unique(one) for one in queries]) if queries else np.zeros(0, np.int64)
    return csr_array((np.ones(len(indices), np.int64), indices, ends), shape=(len(queries), bits))


def hidden_bits(traces: Traces, bit_numbers: Ints) -> Ints:
    """The values of some bits: what nobody who asks should learn of one person."""
    user, column = np.divmod(bit_numbers, traces.rois * traces.hours)
    return np.asarray(traces.matrix[user, column]).ravel().astype(np.int64)


def true_answer(traces: Traces, bit_numbers: Ints) -> int:
    """The number of visits a query covers."""
    return int(hidden_bits(traces, bit_numbers).sum())


def checked_answers(rows: Matrix, answers: Sequence[int] | Ints) -> Ints:
    """The answers as whole numbers, if there is one per query and none is outside what its query covers."""
    values = np.asarray(answers)
    if values.shape != (rows.shape[0],):
        raise BadInput(f"there must be one answer for each of {rows.shape[0]} queries, got {values.size}")
    sizes = np.asarray(rows.sum(axis=1)).ravel()
    wrong = np.flatnonzero((values != np.floor(values)) | (values < 0) | (values > sizes))
    if wrong.size:
        found = some(f"{values[number]} for query {number} of {sizes[number]} visits" for number in wrong)
        raise BadInput(f"an answer must be a whole number from 0 to the size of its query, got {found}")
    return values.astype(np.int64)


def _columns(cube: Cube, places: Sequence[int], hours: Sequence[int]) -> Ints:
    chosen_places, chosen_hours = _known("places", places, cube.places), _known("hours", hours, cube.hours)
    return (chosen_places[:, None] * cube.hours + chosen_hours).ravel()


def _known(name: str, chosen: Sequence[int] | Ints, count: int) -> Ints:
    values = np.unique(np.asarray(chosen, dtype=np.int64))
    unknown = values[(values < 0) | (values >= count)]
    if unknown.size:
        raise BadInput(f"the {name} of a query must be numbers from 0 to {count - 1}, got {some(unknown)}")
    if not values.size:
        raise BadInput(f"a query must name at least one of the {count} {name}, got none")
    return values
