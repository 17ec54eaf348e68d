"""Attacks on records: who is singled out by a few points, who by two releases, and whose track is the nearest.

De Montjoye et al. 2013 draw p points of a person at random and ask whether anybody else has all of them: 95 % of 1.5
million people were alone at p = 4 (hours and antennas). Zang & Bolot 2011 ask it of the two places where a person is
seen most. Both ask for the records that contain a given set of points: a product of two sparse matrices, the points
that are known and an inverted index from each point to the records that have it.

Two k-anonymous releases of the same people, laid on top of each other (Ganta, Kasiviswanathan & Smith 2008)
----------------------------------------------------------------------------------------------------------
Each release alone hides a person among k. Whoever finds the person's group in both, say two operators who publish the
same week, or one who publishes it twice with different hierarchies, intersects them. Who else is in both groups is
often nobody. And every visit lies in what both records stand for: where a generalised item of one record has a single
place in common with all the other record stands for, the person was there.

Tracks of a cylinder differ: what (k, delta)-anonymity leaves to an attacker
--------------------------------------------------------------------------
Trujillo-Rasua & Domingo-Ferrer 2013: points within delta of each other are not the same point, so who knows where
somebody was more precisely than delta finds the track that lies nearest. k-anonymity would leave 1 in k of them.
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
from density_assets.research.trajectories.generalisation import Generalised, covering_traces, item_traces
from density_assets.series import Ints

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
    return share_singled_out(traces, traces, p, seed)


def share_singled_out(original: Traces, published: Traces, p: int, seed: int = 0) -> Uniqueness:
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


def share_singled_out_of_records(
    original: Traces, published: Generalised, parts_of_day: int, p: int, seed: int = 0
) -> Uniqueness:
    """The share of people of whom p items are covered by exactly one generalised record.

    An item is a place in a part of the day; a record covers it if one of its nodes stands for it.
    """
    items = item_traces(original, parts_of_day)
    return share_singled_out(items, covering_traces(published, items), p, seed)


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


def coarsen(traces: Traces, places: Ints | None = None, hours: int = 1) -> Traces:
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


@dataclass(frozen=True)
class Composition:
    """What two releases give away of the people who are in both.

    people: how many are. smallest_group: among them, in either release alone. alone: share whose groups have nobody
    else in common. revealed: share with an item that is certain from both, and in `revealed_by_one` from the better
    of the releases alone. narrowed: mean share of the items of the first record that the second rules out.
    """

    people: int
    smallest_group: int
    alone: float
    revealed: float
    revealed_by_one: float
    narrowed: float


def intersect_releases(first: Generalised, second: Generalised) -> Composition:
    """Both releases of the people they share; items must be the same, hierarchies and people may differ."""
    if first.hierarchy.leaves != second.hierarchy.leaves:
        raise BadInput(
            f"both releases must be of the same items, got {first.hierarchy.leaves} and {second.hierarchy.leaves}"
        )
    shared, one, other = np.intersect1d(first.users, second.users, return_indices=True)
    if len(shared) == 0:
        raise BadInput("two releases compose only over people who are in both, and no person is")
    own, others = first.covered()[one], second.covered()[other]
    both = csr_array(own.multiply(others))
    certain = reveal_items(first, one, both) + reveal_items(second, other, both)
    alone = [
        _anything(reveal_items(release, rows, covered))
        for release, rows, covered in ((first, one, own), (second, other, others))
    ]
    return Composition(
        len(shared),
        min(int(np.bincount(first.groups()).min()), int(np.bincount(second.groups()).min())),
        float((_common(first.groups()[one], second.groups()[other]) == 1).mean()),
        float(_anything(certain).mean()),
        float(max(found.mean() for found in alone)),
        float(np.mean(1 - np.diff(both.indptr) / np.diff(own.indptr))),
    )


def reveal_items(release: Generalised, rows: Ints, possible: Matrix) -> Matrix:
    """Items where people have certainly been, people x leaves: the only possible one of a published node.

    possible: the items that are not ruled out, people x leaves.
    """
    covers = release.hierarchy.covers
    nodes = release.nodes[rows]
    left = csr_array(nodes.multiply(possible @ covers.T))
    left.data = (left.data == 1).astype(np.int32)
    left.eliminate_zeros()
    return csr_array((left @ covers).multiply(possible))


def _anything(found: Matrix) -> NDArray[np.bool_]:
    return np.asarray(np.diff(csr_array(found).indptr) > 0)


def _common(first: Ints, second: Ints) -> Ints:
    """How many people share both groups with each person, the person included."""
    _, pair, size = np.unique(np.stack((first, second)), axis=1, return_inverse=True, return_counts=True)
    return np.asarray(size[pair.ravel()])


ATTACKED = 1_000
TINY = 1e-6  # metres


def share_nearest(original: Traces, published: Traces, points: int, seed: int = 0, asked: int = ATTACKED) -> float:
    """The share of people whose own published record is the one nearest to some true points of theirs.

    An attacker sees what is published: places, hour by hour. A record that is nowhere in a known hour is taken to be as
    far away as the map is wide. People of whom no record is published, or who have fewer points, are not found.
    """
    rng, at = np.random.default_rng(seed), _places_by_hour(published)
    people = rng.choice(len(original.users), min(asked, len(original.users)), replace=False)
    rows = {user: row for row, user in enumerate(published.users.tolist())}
    user, place, hour = original.points()
    start = np.searchsorted(user, np.arange(len(original.users) + 1))
    xy = np.vstack([original.positions, original.positions.max(axis=0) + np.ptp(original.positions, axis=0)])
    found = 0.0
    for person in people.tolist():
        own = np.arange(start[person], start[person + 1])
        row = rows.get(original.users[person].item())
        if len(own) < points or row is None:
            continue
        known = rng.choice(own, points, replace=False)
        away = np.linalg.norm(xy[at[:, hour[known]]] - xy[place[known]], axis=2).sum(axis=1)
        nearest = np.flatnonzero(away <= away.min() + TINY)
        found += float(row in nearest) / len(nearest)
    return found / len(people)


def _places_by_hour(traces: Traces) -> Ints:
    """One place of each record in each hour, -1 where it has none."""
    row, place, hour = traces.points()
    at = np.full((len(traces.users), traces.hours), -1, dtype=np.int64)
    at[row, hour] = place
    return at
