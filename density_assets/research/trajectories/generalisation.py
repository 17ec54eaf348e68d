"""k-anonymity of whole records: every published set of items is published at least k times.

An item is a place in a part of the day, whichever day: with hours as items nothing but the root would be left. A
generalised record is a set of nodes of a hierarchy. Sets say that somebody was there, not how often. To count them to a
density, each generalised item is spread evenly over the places and hours that it stands for, and the result is scaled
to totals published beside the records: syntactic models do not object to totals, and without them every technique would
lose by counts alone.

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

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy.sparse import csr_array

from density_assets.errors import BadInput
from density_assets.research.approaches.technique import Parameters, Published, Technique
from density_assets.research.traces.matrix import Matrix, Traces, binary, trace_matrix
from density_assets.research.trajectories.hierarchy import Hierarchy, halved_hierarchy
from density_assets.series import Flags, Floats, Ints

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


Totals = Literal["none", "week", "hour"]


def publish_records(records: Generalised, original: Traces, parts_of_day: int, totals: Totals, seed: int) -> Published:
    """Generalised records as what is published: their density, and one reading of them as trajectories."""
    density = count_records(records, original, parts_of_day, totals)
    return Published(
        density, read_as_traces(records, original, parts_of_day, seed), facts=record_facts(records, original)
    )


def count_records(records: Generalised, original: Traces, parts_of_day: int, totals: Totals) -> Floats:
    """Visits per place and hour from generalised records, scaled to published totals of the original."""
    hierarchy = records.hierarchy
    per_node = np.bincount(records.nodes.indices, minlength=hierarchy.nodes)
    per_item = hierarchy.covers.T @ (per_node / hierarchy.sizes)
    by_part = per_item.reshape(original.rois, parts_of_day)
    part = part_of_day(np.arange(original.hours), parts_of_day)
    hours_of_part = np.maximum(np.bincount(part, minlength=parts_of_day), 1)
    return scale_to_totals((by_part / hours_of_part)[:, part], original, totals)


def scale_to_totals(density: Floats, original: Traces, totals: Totals) -> Floats:
    """The density, scaled to the total of the week or of each hour where those are published."""
    if totals == "none":
        return density
    truth = original.aggregate().astype(np.float64)
    axis = 0 if totals == "hour" else None
    got = density.sum(axis=axis)
    return np.asarray(density * (truth.sum(axis=axis) / np.where(got > 0, got, 1.0)))


def read_as_traces(records: Generalised, original: Traces, parts_of_day: int, seed: int) -> Traces:
    """One reading of generalised records as trajectories: each item becomes one place and hour that it stands for.

    An attacker compares with the records (`singled_out_of_records`), not with this reading, which has lost them.
    """
    rng, hierarchy = np.random.default_rng(seed), records.hierarchy
    node = records.nodes.indices
    user = np.repeat(np.arange(records.nodes.shape[0]), np.diff(records.nodes.indptr))
    leaf = hierarchy.covers.indices[hierarchy.covers.indptr[node] + rng.integers(0, hierarchy.sizes[node])]
    place, part = np.divmod(leaf.astype(np.int64), parts_of_day)
    length = DAY // parts_of_day
    days = max(original.hours // DAY, 1)
    hour = rng.integers(0, days, len(leaf)) * DAY + part * length + rng.integers(0, length, len(leaf))
    matrix = binary(
        user, place * original.hours + hour % original.hours, (len(records.users), original.matrix.shape[1])
    )
    return Traces(matrix, records.users, original.hours, original.positions, original.grid, original.placed)


def record_facts(records: Generalised, traces: Traces) -> dict[str, float]:
    """What a reader should know of generalised records."""
    sizes = records.hierarchy.sizes[records.nodes.indices]
    return {
        "people": len(records.users),
        "people_without_points": len(traces.users) - len(records.users),
        "groups": int(records.groups().max()) + 1,
        "items": int(records.nodes.nnz),
        "precise_items": float((sizes == 1).mean()),
        "median_items_covered": float(np.median(sizes)),
    }


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
    present: Flags = (records @ hierarchy.covers.T).toarray() > 0
    root = frozenset({hierarchy.root})
    undecided = [Group(np.arange(records.shape[0]), root, frozenset(range(hierarchy.leaves)))]
    groups = []
    while undecided:
        group = undecided.pop()
        parts = divide_group(group, present, hierarchy, k)
        undecided.extend(parts)
        if not parts:
            groups.append(group)
    return _matrix(groups, (records.shape[0], hierarchy.nodes))


def divide_group(group: Group, present: Flags, hierarchy: Hierarchy, k: int) -> list[Group]:
    """The group with its coarsest node replaced by children, in parts of at least k; none if all nodes are final."""
    open_nodes = group.nodes - group.final
    if not open_nodes:
        return []
    node = max(open_nodes, key=lambda one: (hierarchy.sizes[one], one))
    children = hierarchy.children[node]
    patterns, label = np.unique(present[np.ix_(group.rows, children)], axis=0, return_inverse=True)
    parts, rest = balance_parts([group.rows[label.ravel() == number] for number in range(len(patterns))], k)
    finer = [
        Group(rows, group.nodes - {node} | frozenset(children[present[rows[0], children]].tolist()), group.final)
        for rows in parts
    ]
    coarse = [Group(rest, group.nodes, group.final | {node})] if len(rest) else []
    return finer + coarse


def balance_parts(parts: list[Ints], k: int) -> tuple[list[Ints], Ints]:
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


def generalise(traces: Traces, chosen: GeneralisationChoices, turned: float = 0.0) -> Generalised:
    """The k-anonymous records of traces. turned: the angle of the map whose halves are the hierarchy."""
    items = item_traces(traces, chosen.parts_of_day)
    hierarchy = item_hierarchy(traces.positions, chosen.parts_of_day, turned)
    return Generalised(k_anonymous(items.matrix, hierarchy, chosen.k), items.users, hierarchy)


def publish(traces: Traces, chosen: GeneralisationChoices, seed: int) -> Published:
    """k-anonymous records, counted to a density."""
    return publish_records(generalise(traces, chosen), traces, chosen.parts_of_day, chosen.totals, seed)


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
