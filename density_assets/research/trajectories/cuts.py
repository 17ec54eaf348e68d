"""Cuts of a hierarchy: one recoding for all records, where every item is published as the node of the cut above it.

Raising a node replaces everything below it (full-subtree recoding), so cuts only become coarser. A set of items that
too few records have is repaired by the cheapest raise of its items that gives it enough of them.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from density_assets.errors import BadInput
from density_assets.research.traces.matrix import Matrix, binary
from density_assets.research.trajectories.hierarchy import Hierarchy

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bits = NDArray[np.uint8]


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


def indexed(records: Matrix, hierarchy: Hierarchy) -> Items:
    """The records that have each node of a hierarchy."""
    present = csr_array(hierarchy.covers @ records.T).toarray() > 0
    frequency = np.bincount(records.indices, minlength=hierarchy.leaves).astype(np.float64)
    return Items(hierarchy, np.packbits(present, axis=1), frequency)


def finest_cut(hierarchy: Hierarchy) -> Ints:
    """Every item as itself."""
    return np.arange(hierarchy.leaves)


def recoded(records: Matrix, cut: Ints, hierarchy: Hierarchy) -> Matrix:
    """Records with each item replaced by its node of the cut, people x nodes."""
    row = np.repeat(np.arange(records.shape[0]), np.diff(records.indptr))
    return binary(row, cut[records.indices], (records.shape[0], hierarchy.nodes))


def lifted(nodes: frozenset[int], cut: Ints, hierarchy: Hierarchy) -> frozenset[int]:
    """What a cut publishes for nodes of a finer one."""
    return frozenset(int(cut[hierarchy.leaves_of(node)[0]]) for node in nodes)


def raised(cut: Ints, nodes: frozenset[int], hierarchy: Hierarchy) -> Ints:
    """The cut with everything below some nodes replaced by them; none of the nodes may lie below the cut."""
    new = cut.copy()
    for node in nodes:
        new[hierarchy.leaves_of(node)] = node
    return new


def repaired(cut: Ints, nodes: frozenset[int], items: Items, k: int) -> Ints:
    """The cheapest coarser cut with which at least k records have a set of nodes; the same cut if they have it."""
    nodes = lifted(nodes, cut, items.hierarchy)
    if items.support(nodes) >= k:
        return cut
    for _, candidate in sorted(_raises(cut, nodes, items), key=lambda one: (one[0], sorted(one[1]))):
        if items.support(candidate) >= k:
            return raised(cut, candidate, items.hierarchy)
    raise BadInput(f"at least k records are needed, k = {k} is more than there are; choose a smaller k")


def _raises(cut: Ints, nodes: frozenset[int], items: Items) -> list[tuple[float, frozenset[int]]]:
    """Every way to replace nodes by nodes above them, with what it costs."""
    hierarchy = items.hierarchy
    paths = [hierarchy.ancestors(node) for node in sorted(nodes)]
    occurrences = hierarchy.covers @ items.frequency
    lost = hierarchy.covers @ (items.frequency * hierarchy.losses[cut])
    cost = occurrences * hierarchy.losses - lost
    choices = {_topmost(frozenset(choice), hierarchy) for choice in product(*paths)}
    return [(float(cost[sorted(choice)].sum()), choice) for choice in choices]


def _topmost(nodes: frozenset[int], hierarchy: Hierarchy) -> frozenset[int]:
    """The nodes without those that lie below another of them."""
    return frozenset(node for node in nodes if not nodes.intersection(hierarchy.ancestors(node)[1:]))
