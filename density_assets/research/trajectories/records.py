"""Records for generalisation: the set of items of each person, and what becomes of it.

An item is a place in a part of the day, whichever day: with hours as items nothing but the root would be left. A
generalised record is a set of nodes of a hierarchy. Sets say that somebody was there, not how often.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from density_assets.errors import BadInput
from density_assets.research.traces.matrix import Matrix, Traces, trace_matrix
from density_assets.research.trajectories.hierarchy import Hierarchy, halved_hierarchy

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
DAY = 24


@dataclass(frozen=True)
class Generalised:
    """Published sets of items.

    nodes: people x nodes of the hierarchy, ones. users: who they are; not published.
    """

    nodes: Matrix
    users: NDArray[Any]
    hierarchy: Hierarchy

    def covered(self) -> Matrix:
        """The items that each record may stand for, people x leaves, ones."""
        covered = csr_array(self.nodes @ self.hierarchy.covers)
        covered.data[:] = 1
        return covered

    def groups(self) -> Ints:
        """The number of the anonymity group of each person: records that are the same have the same one."""
        rows = np.packbits(self.nodes.toarray().astype(bool), axis=1)
        return np.unique(rows, axis=0, return_inverse=True)[1].ravel().astype(np.int64)

    def named(self) -> list[frozenset[str]]:
        """Each record as the names of its items."""
        names = self.hierarchy.names
        return [frozenset(names[node] for node in row) for row in np.split(self.nodes.indices, self.nodes.indptr[1:-1])]


def item_traces(traces: Traces, parts_of_day: int) -> Traces:
    """People who were seen at all, over places and parts of the day: column place · parts + part."""
    if traces.matrix.nnz == 0:
        raise BadInput("there is nothing to publish of empty traces: they have no point; give traces with points")
    if parts_of_day < 1 or DAY % parts_of_day:
        raise BadInput(f"parts_of_day must divide the {DAY} hours of a day, got {parts_of_day}")
    user, roi, hour = traces.points()
    items = trace_matrix(traces, user, roi, part_of_day(hour, parts_of_day), parts_of_day)
    return items.rows(np.flatnonzero(np.diff(items.matrix.indptr)))


def part_of_day(hour: Ints, parts: int) -> Ints:
    """The part of the day of each hour, counted from 0 at midnight."""
    return hour % DAY // (DAY // parts)


def item_hierarchy(positions: Floats, parts_of_day: int, turned: float = 0.0) -> Hierarchy:
    """A hierarchy of places and parts of the day: the town and the day are halved in turn, the wider first.

    turned: turns the map by so many radians before halving; another angle is another hierarchy of the same items.
    """
    turn = np.array([[np.cos(turned), -np.sin(turned)], [np.sin(turned), np.cos(turned)]])
    place = np.repeat(positions @ turn.T, parts_of_day, axis=0)
    part = np.tile(np.arange(parts_of_day, dtype=np.float64), len(positions))
    axes = np.column_stack((place, part))
    return halved_hierarchy((axes - axes.min(axis=0)) / np.maximum(np.ptp(axes, axis=0), 1e-9))


def covering_traces(published: Generalised, items: Traces) -> Traces:
    """Records as traces over items, a one wherever a record may stand for an item: what an attacker compares with.

    items: traces over the same items, for their places.
    """
    return replace(items, matrix=published.covered(), users=published.users)
