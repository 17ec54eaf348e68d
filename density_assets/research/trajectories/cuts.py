"""Cuts of a hierarchy: one recoding for all records, where every item is published as the node of the cut above it.

Raising a node replaces everything below it (full-subtree recoding), so cuts only become coarser. A set of items that
too few records have is repaired by the cheapest raise of its items that gives it enough of them.
"""

from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from density_assets.errors import BadInput
from density_assets.research.traces.matrix import Matrix, binary
from density_assets.research.trajectories.hierarchy import Hierarchy

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
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
    """The cheapest coarser cut with which at least k records have a set of nodes; the same cut if they have it.

    Raising a node never costs less than before, so ways are tried in the order of their cost (Dijkstra): the first
    that suffices is the cheapest.
    """
    nodes = lifted(nodes, cut, items.hierarchy)
    if items.support(nodes) >= k:
        return cut
    cost = _costs(cut, items)
    waiting, met = [(0.0, sorted(nodes))], {nodes}
    while waiting:
        candidate = frozenset(heappop(waiting)[1])
        if items.support(candidate) >= k:
            return raised(cut, candidate, items.hierarchy)
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
