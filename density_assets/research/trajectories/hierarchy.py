"""A hierarchy of items: which less precise item stands for which precise ones.

Items are the leaves, numbered from 0; the inner nodes follow, the root is the last. A hierarchy is given by nested
names, or made by halving a map again and again: the widest axis at its median, which gives a binary tree of depth
log2 of the leaves.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from density_assets.errors import BadInput
from density_assets.research.traces.matrix import Matrix, binary

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Names = str | tuple[str, tuple["Names", ...]]


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


def named_hierarchy(names: Names) -> Hierarchy:
    """A hierarchy from nested names: a name is an item, a pair of a name and parts is an inner node."""
    leaves = _leaf_names(names)
    if len(set(leaves)) < len(leaves):
        raise BadInput(f"the items of a hierarchy must have different names, got {', '.join(leaves)}")
    parent, labels = [-1] * len(leaves), list(leaves)
    _attach(names, leaves, parent, labels)
    return Hierarchy(np.array(parent, dtype=np.int64), len(leaves), tuple(labels))


def halved_hierarchy(coordinates: Floats) -> Hierarchy:
    """A binary tree over points: the widest axis is halved at its median until every point is alone."""
    if len(coordinates) == 0:
        raise BadInput("a hierarchy needs at least one item, got none")
    parent = [-1] * len(coordinates)
    _halve(coordinates, np.arange(len(coordinates)), parent)
    names = tuple(f"item {n}" if n < len(coordinates) else f"area {n}" for n in range(len(parent)))
    return Hierarchy(np.array(parent, dtype=np.int64), len(coordinates), names)


def _leaf_names(names: Names) -> list[str]:
    return [names] if isinstance(names, str) else [leaf for part in names[1] for leaf in _leaf_names(part)]


def _attach(names: Names, leaves: list[str], parent: list[int], labels: list[str]) -> int:
    """Number a node after everything below it, so that the root comes last."""
    if isinstance(names, str):
        return leaves.index(names)
    below = [_attach(part, leaves, parent, labels) for part in names[1]]
    return _join(below, names[0], parent, labels)


def _join(below: list[int], name: str, parent: list[int], labels: list[str]) -> int:
    parent.append(-1)
    labels.append(name)
    for node in below:
        parent[node] = len(parent) - 1
    return len(parent) - 1


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
