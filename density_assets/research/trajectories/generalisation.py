"""k-anonymity of whole records: every published set of items is published at least k times.

Records start as the root of the hierarchy, all alike. A group is divided by replacing its coarsest node with the
children that each record has; parts with fewer than k records stay together at the coarser node. This is the top-down
local generalisation of He & Naughton 2009: the same item may be precise in one group and coarse in another.

It gives the chapter's Table 1 (b) from its Table 1 (a). Three remarks on that table:
- Rows 5–7 of (b) and rows 3–7 of (c) print "West US" where the generalised cities are New York and Boston: East US is
  meant. As printed no hierarchy with different names gives the rows.
- (b) is recoded group by group (LA stays LA in rows 5–7 and becomes West US in rows 1–2), (c) for all records alike.
  So the caption's "fewer generalizations" is not what the table shows: (b) replaces 7 of the 17 visits, (c) 8. With
  one recoding for all, 2-anonymity replaces all 17, and then the caption is right.
- (b) is 2^m-anonymous for every m as well, as every k-anonymous table is. (c) is 2^m-anonymous for every m, too, but
  rows 1 and 2 are one of a kind: with m as long as the longest record, k^m-anonymity is not k-anonymity, though the
  text says so. It bounds what an attacker knows to be there, never what he knows to be absent.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from density_assets.errors import BadInput
from density_assets.research.approaches.technique import Parameters, Published, Technique
from density_assets.research.traces.matrix import Matrix, Traces, binary
from density_assets.research.trajectories.counting import Totals, published
from density_assets.research.trajectories.hierarchy import Hierarchy
from density_assets.research.trajectories.records import Generalised, item_hierarchy, item_traces

Ints = NDArray[np.int64]
Present = NDArray[np.bool_]


class GeneralisationChoices(Parameters):
    """k: records that must be alike. parts_of_day: 1 publishes places without time. totals: published beside."""

    k: int = Field(default=5, ge=1)
    parts_of_day: int = Field(default=4, ge=1, le=24)
    totals: Totals = "hour"


@dataclass(frozen=True)
class Group:
    """Records that are published alike.

    rows: which records. nodes: what they are published as. final: those of the nodes that stay as they are.
    """

    rows: Ints
    nodes: frozenset[int]
    final: frozenset[int]


def k_anonymous(records: Matrix, hierarchy: Hierarchy, k: int) -> Matrix:
    """Generalised records, people x nodes, each at least k times; every record must have an item."""
    if records.shape[0] < k:
        raise BadInput(f"k-anonymity needs at least k records, got {records.shape[0]} for k = {k}; choose a smaller k")
    present: Present = (records @ hierarchy.covers.T).toarray() > 0
    root = frozenset({hierarchy.root})
    undecided = [Group(np.arange(records.shape[0]), root, frozenset(range(hierarchy.leaves)))]
    groups = []
    while undecided:
        group = undecided.pop()
        parts = divided(group, present, hierarchy, k)
        undecided.extend(parts)
        if not parts:
            groups.append(group)
    return _matrix(groups, (records.shape[0], hierarchy.nodes))


def is_k_anonymous(records: Matrix, k: int) -> bool:
    """Whether every record is there at least k times."""
    rows = np.packbits(records.toarray().astype(bool), axis=1)
    return bool((np.unique(rows, axis=0, return_counts=True)[1] >= k).all())


def divided(group: Group, present: Present, hierarchy: Hierarchy, k: int) -> list[Group]:
    """The group with its coarsest node replaced by children, in parts of at least k; none if all nodes are final."""
    open_nodes = group.nodes - group.final
    if not open_nodes:
        return []
    node = max(open_nodes, key=lambda one: (hierarchy.sizes[one], one))
    children = hierarchy.children[node]
    patterns, label = np.unique(present[np.ix_(group.rows, children)], axis=0, return_inverse=True)
    parts, rest = balanced([group.rows[label.ravel() == number] for number in range(len(patterns))], k)
    finer = [
        Group(rows, group.nodes - {node} | frozenset(children[present[rows[0], children]].tolist()), group.final)
        for rows in parts
    ]
    coarse = [Group(rest, group.nodes, group.final | {node})] if len(rest) else []
    return finer + coarse


def balanced(parts: list[Ints], k: int) -> tuple[list[Ints], Ints]:
    """Parts of at least k records, and the rest, which is empty or has at least k as well.

    A rest that is too small takes records of the largest part if that can spare them, else the smallest part.
    """
    large = sorted((part for part in parts if len(part) >= k), key=len)
    rest = np.concatenate([np.zeros(0, np.int64), *(part for part in parts if len(part) < k)])
    while 0 < len(rest) < k and large:
        missing = k - len(rest)
        if len(large[-1]) >= k + missing:
            rest, large[-1] = np.append(rest, large[-1][:missing]), large[-1][missing:]
        else:
            rest = np.append(rest, large.pop(0))
    return large, rest


def generalised(traces: Traces, chosen: GeneralisationChoices, turned: float = 0.0) -> Generalised:
    """The k-anonymous records of traces. turned: the angle of the map whose halves are the hierarchy."""
    items = item_traces(traces, chosen.parts_of_day)
    hierarchy = item_hierarchy(traces.positions, chosen.parts_of_day, turned)
    return Generalised(k_anonymous(items.matrix, hierarchy, chosen.k), items.users, hierarchy)


def publish(traces: Traces, chosen: GeneralisationChoices, seed: int) -> Published:
    """k-anonymous records, counted to a density."""
    return published(generalised(traces, chosen), traces, chosen.parts_of_day, chosen.totals, seed)


def _matrix(groups: list[Group], shape: tuple[int, int]) -> Matrix:
    pairs = [np.stack(np.meshgrid(one.rows, sorted(one.nodes)), axis=-1).reshape(-1, 2) for one in groups]
    row, node = np.concatenate(pairs).T
    return binary(row, node, shape)


K_ANONYMITY = Technique(
    name="k_anonymity",
    approach="trajectories",
    protects="nobody",
    promise="every published record is there at least k times; what a whole group has in common is still disclosed",
    source="Sweeney 2002; He & Naughton 2009 (top-down local generalisation)",
    parameters=GeneralisationChoices,
    publish=publish,
)
