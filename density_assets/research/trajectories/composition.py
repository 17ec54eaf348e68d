"""Two k-anonymous releases of the same people, laid on top of each other (Ganta, Kasiviswanathan & Smith 2008).

Each release alone hides a person among k. Whoever finds the person's group in both, say two operators who publish the
same week, or one who publishes it twice with different hierarchies, intersects them. Who else is in both groups is
often nobody. And every visit lies in what both records stand for: where a generalised item of one record has a single
place in common with all the other record stands for, the person was there.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from density_assets.errors import BadInput
from density_assets.research.traces.matrix import Matrix
from density_assets.research.trajectories.records import Generalised

Ints = NDArray[np.int64]


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


def intersected(first: Generalised, second: Generalised) -> Composition:
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
    certain = revealed_items(first, one, both) + revealed_items(second, other, both)
    alone = [
        _anything(revealed_items(release, rows, covered))
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


def revealed_items(release: Generalised, rows: Ints, possible: Matrix) -> Matrix:
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
