"""A hierarchy of items: which less precise item stands for which precise ones.

Items are the leaves, numbered from 0; the inner nodes follow, the root is the last. A hierarchy is made by
halving a map again and again: the widest axis at its median, which gives a binary tree of depth log2 of the leaves.

A cut of a hierarchy is one recoding for all records, where every item is published as the node of the cut above it.
Raising a node replaces everything below it (full-subtree recoding), so cuts only become coarser. A set of items that
too few records have is repaired by the cheapest raise of its items that gives it enough of them.
"""

from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from density_assets.errors import BadInput
from density_assets.research.traces.matrix import Matrix, binary
from density_assets.series import Floats, Ints


@dataclass(frozen=True)
class Hierarchy:
    """A tree over items.

    parent: of each node, -1 for the root; the nodes 0 … leaves - 1 are the items.
    names: of each node. Inner nodes may share a name, nodes are told apart by their number.
    """

    parent: Ints
    leaves: int
    names: tuple[str, ...]

    @property
    def nodes(self) -> int:
        """How many nodes there are, items included."""
        return len(self.parent)

    @property
    def root(self) -> int:
        """The node that stands for every item."""
        return self.nodes - 1

    def ancestors(self, node: int) -> list[int]:
        """The node itself, its parent, and so on to the root."""
        path = [node]
        while self.parent[path[-1]] >= 0:
            path.append(int(self.parent[path[-1]]))
        return path

    @cached_property
    def children(self) -> list[Ints]:
        """The nodes right below each node."""
        return [np.flatnonzero(self.parent == node) for node in range(self.nodes)]

    @cached_property
    def covers(self) -> Matrix:
        """Which items each node stands for, (nodes, leaves), ones."""
        pairs = [(node, leaf) for leaf in range(self.leaves) for node in self.ancestors(leaf)]
        node, leaf = np.array(pairs).T
        return binary(node, leaf, (self.nodes, self.leaves))

    @cached_property
    def sizes(self) -> Ints:
        """How many items each node stands for."""
        sizes: Ints = np.diff(self.covers.indptr).astype(np.int64)
        return sizes

    @cached_property
    def losses(self) -> Floats:
        """What one item loses by each node: 0 for an item, the share of all items for a node (NCP of Xu 2006)."""
        return np.where(self.sizes > 1, self.sizes / self.leaves, 0.0)

    def leaves_of(self, node: int) -> Ints:
        """The items that a node stands for."""
        return np.asarray(self.covers.indices[self.covers.indptr[node] : self.covers.indptr[node + 1]], np.int64)


def halved_hierarchy(coordinates: Floats) -> Hierarchy:
    """A binary tree over points: the widest axis is halved at its median until every point is alone."""
    if len(coordinates) == 0:
        raise BadInput("a hierarchy needs at least one item, got none")
    parent = [-1] * len(coordinates)
    _halve(coordinates, np.arange(len(coordinates)), parent)
    names = tuple(f"item {n}" if n < len(coordinates) else f"area {n}" for n in range(len(parent)))
    return Hierarchy(np.array(parent, dtype=np.int64), len(coordinates), names)


def _halve(coordinates: Floats, points: Ints, parent: list[int]) -> int:
    if len(points) == 1:
        return int(points[0])
    spread = np.ptp(coordinates[points], axis=0)
    order = points[np.argsort(coordinates[points, np.argmax(spread)], kind="stable")]
    middle = len(order) // 2
    below = [_halve(coordinates, half, parent) for half in (order[:middle], order[middle:])]
    parent.append(-1)
    for node in below:
        parent[node] = len(parent) - 1
    return len(parent) - 1


Bits = NDArray[np.uint8]
SEARCHED = 2_000  # ways to raise a set; beyond it the search starts anew from the cheapest way so far


@dataclass(frozen=True)
class Items:
    """What a search for cuts looks at again and again.

    bits: the records that have each node, eight a byte. frequency: the records that have each item.
    """

    hierarchy: Hierarchy
    bits: Bits
    frequency: Floats

    def support(self, nodes: frozenset[int]) -> int:
        """How many records have all the nodes."""
        together = np.bitwise_and.reduce(self.bits[sorted(nodes)], axis=0)
        return int(np.bitwise_count(together).sum())


def index_records(records: Matrix, hierarchy: Hierarchy) -> Items:
    """The records that have each node of a hierarchy."""
    present = csr_array(hierarchy.covers @ records.T).toarray() > 0
    frequency = np.bincount(records.indices, minlength=hierarchy.leaves).astype(np.float64)
    return Items(hierarchy, np.packbits(present, axis=1), frequency)


def finest_cut(hierarchy: Hierarchy) -> Ints:
    """Every item as itself."""
    return np.arange(hierarchy.leaves)


def recode(records: Matrix, cut: Ints, hierarchy: Hierarchy) -> Matrix:
    """Records with each item replaced by its node of the cut, people x nodes."""
    row = np.repeat(np.arange(records.shape[0]), np.diff(records.indptr))
    return binary(row, cut[records.indices], (records.shape[0], hierarchy.nodes))


def lift(nodes: frozenset[int], cut: Ints, hierarchy: Hierarchy) -> frozenset[int]:
    """What a cut publishes for nodes of a finer one."""
    return frozenset(int(cut[hierarchy.leaves_of(node)[0]]) for node in nodes)


def raise_nodes(cut: Ints, nodes: frozenset[int], hierarchy: Hierarchy) -> Ints:
    """The cut with everything below some nodes replaced by them; none of the nodes may lie below the cut."""
    new = cut.copy()
    for node in nodes:
        new[hierarchy.leaves_of(node)] = node
    return new


def repair(cut: Ints, nodes: frozenset[int], items: Items, k: int) -> Ints:
    """The cheapest coarser cut with which at least k records have a set of nodes; the same cut if they have it.

    Raising a node never costs less than before, so ways are tried in the order of their cost (Dijkstra): the first
    that suffices is the cheapest.
    """
    nodes = lift(nodes, cut, items.hierarchy)
    if items.support(nodes) >= k:
        return cut
    cost = _costs(cut, items)
    waiting, met = [(0.0, sorted(nodes))], {nodes}
    while waiting:
        candidate = frozenset(heappop(waiting)[1])
        if items.support(candidate) >= k:
            return raise_nodes(cut, candidate, items.hierarchy)
        if len(met) > SEARCHED:
            waiting, met = [], set()
        for coarser in _one_step_up(candidate, items.hierarchy) - met:
            met.add(coarser)
            heappush(waiting, (float(cost[sorted(coarser)].sum()), sorted(coarser)))
    raise BadInput(f"at least k records are needed, k = {k} is more than there are; choose a smaller k")


def _costs(cut: Ints, items: Items) -> Floats:
    """What all records lose by raising the cut to each node, beyond what they have lost."""
    hierarchy = items.hierarchy
    before = hierarchy.covers @ (items.frequency * hierarchy.losses[cut])
    return np.asarray((hierarchy.covers @ items.frequency) * hierarchy.losses - before)


def _one_step_up(nodes: frozenset[int], hierarchy: Hierarchy) -> set[frozenset[int]]:
    """The nodes with one of them replaced by its parent; what then lies below another is dropped."""
    inner = [node for node in nodes if node != hierarchy.root]
    return {_topmost(nodes - {node} | {int(hierarchy.parent[node])}, hierarchy) for node in inner}


def _topmost(nodes: frozenset[int], hierarchy: Hierarchy) -> frozenset[int]:
    """The nodes without those that lie below another of them."""
    return frozenset(node for node in nodes if not nodes.intersection(hierarchy.ancestors(node)[1:]))
