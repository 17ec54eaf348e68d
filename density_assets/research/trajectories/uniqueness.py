"""How few points single a person out, and the same as an attack on trajectories that somebody published.

De Montjoye et al. 2013 draw p points of a person at random and ask whether anybody else has all of them: 95 % of 1.5
million people were alone at p = 4 (hours and antennas). Zang & Bolot 2011 ask it of the two places where a person is
seen most. Both ask for the records that contain a given set of points: a product of two sparse matrices, the points
that are known and an inverted index from each point to the records that have it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from density_assets.errors import BadInput
from density_assets.research.contributions import rank_within
from density_assets.research.membership.defenses import merged_places, merged_slots
from density_assets.research.traces.matrix import Matrix, Traces, binary
from density_assets.research.trajectories.records import Generalised, covering_traces, item_traces

Ints = NDArray[np.int64]
LARGEST_PRODUCT = 20_000_000  # multiplications at once, to bound memory


@dataclass(frozen=True)
class Uniqueness:
    """Who is singled out by what an attacker knows.

    share: of the people asked about. asked: how many have enough points. left_out: how many do not.
    """

    share: float
    asked: int
    left_out: int


def unique_by_points(traces: Traces, p: int, seed: int = 0) -> Uniqueness:
    """The share of people whom p random points of their own tell apart from everybody else."""
    return singled_out(traces, traces, p, seed)


def singled_out(original: Traces, published: Traces, p: int, seed: int = 0) -> Uniqueness:
    """The share of people of whom p random points are found in exactly one published record.

    That one record need not be the person's own: an attacker believes it all the same. People with fewer than p
    points are left out.
    """
    if original.matrix.shape[1] != published.matrix.shape[1]:
        raise BadInput(
            "original and published traces must have the same places and hours, got "
            f"{original.matrix.shape[1]:,} and {published.matrix.shape[1]:,} columns; coarsen the original alike"
        )
    known, asked = known_points(original, p, seed)
    alone = matching_records(known, published.matrix, p) == 1
    return _uniqueness(alone, asked)


def singled_out_of_records(
    original: Traces, published: Generalised, parts_of_day: int, p: int, seed: int = 0
) -> Uniqueness:
    """The share of people of whom p items are covered by exactly one generalised record.

    An item is a place in a part of the day; a record covers it if one of its nodes stands for it.
    """
    items = item_traces(original, parts_of_day)
    return singled_out(items, covering_traces(published, items), p, seed)


def unique_by_top_places(traces: Traces, top: int = 2) -> Uniqueness:
    """The share of people whose most visited places nobody else has as their most visited ones.

    The order among them is not used; where two places are visited equally often, the lower number comes first.
    People with fewer different places are left out.
    """
    visits = _visits(traces)
    places = np.argsort(-visits, axis=1, kind="stable")[:, :top]
    asked = np.count_nonzero(visits, axis=1) >= top
    _, label, size = np.unique(np.sort(places[asked], axis=1), axis=0, return_inverse=True, return_counts=True)
    return _uniqueness(size[label.ravel()] == 1, asked)


def coarser(traces: Traces, places: Ints | None = None, hours: int = 1) -> Traces:
    """Traces told less precisely.

    places: the merged place of each place, numbered from 0. hours: length of a slot.
    """
    merged = traces if places is None else merged_places(traces, places)
    return merged if hours == 1 else merged_slots(merged, hours)


def known_points(traces: Traces, p: int, seed: int) -> tuple[Matrix, NDArray[np.bool_]]:
    """A row of p random points for each person who has as many, and who those people are."""
    if p < 1:
        raise BadInput(f"an attacker must know at least one point, got p = {p}")
    if traces.matrix.nnz == 0:
        raise BadInput("nobody can be singled out of empty traces: they have no point; give traces with points")
    sizes = np.diff(traces.matrix.indptr)
    user = np.repeat(np.arange(len(sizes)), sizes)
    asked = sizes >= p
    drawn = (rank_within(user, np.random.default_rng(seed).random(len(user))) < p) & asked[user]
    row = np.cumsum(asked) - 1
    shape = (int(asked.sum()), traces.matrix.shape[1])
    return binary(row[user[drawn]], traces.matrix.indices[drawn].astype(np.int64), shape), asked


def matching_records(known: Matrix, records: Matrix, p: int) -> Ints:
    """How many records have all p points of each row of `known`."""
    index = csr_array(records.T)
    column_sizes = np.diff(index.indptr).astype(np.int64)
    work = np.cumsum(known.astype(np.int64) @ column_sizes)
    steps = np.arange(0, work[-1] if len(work) else 0, LARGEST_PRODUCT)
    starts = np.unique(np.append(np.searchsorted(work, steps), 0)).astype(np.int64)
    return np.concatenate([_full_matches(rows, index, p) for rows in _slices(known, starts)])


def _slices(matrix: Matrix, starts: Ints) -> list[Matrix]:
    ends = [*starts[1:].tolist(), matrix.shape[0]]
    return [matrix[start:end] for start, end in zip(starts.tolist(), ends, strict=True)]


def _full_matches(known: Matrix, index: Matrix, p: int) -> Ints:
    shared: Any = csr_array(known @ index)
    row = np.repeat(np.arange(shared.shape[0]), np.diff(shared.indptr))
    return np.bincount(row[shared.data == p], minlength=shared.shape[0]).astype(np.int64)


def _visits(traces: Traces) -> NDArray[np.int64]:
    """Visits of each person to each place, dense."""
    if traces.matrix.nnz == 0:
        raise BadInput("nobody can be singled out of empty traces: they have no point; give traces with points")
    user, roi, _ = traces.points()
    cells = np.bincount(user * traces.rois + roi, minlength=len(traces.users) * traces.rois)
    return cells.reshape(len(traces.users), traces.rois)


def _uniqueness(alone: NDArray[np.bool_], asked: NDArray[np.bool_]) -> Uniqueness:
    number = int(asked.sum())
    return Uniqueness(float(alone.mean()) if number else float("nan"), number, len(asked) - number)
