"""k^m-anonymity: whoever knows at most m items of a person finds no record or at least k of them.

Terrovitis, Mamoulis & Kalnis 2008. One cut of the hierarchy recodes all records. The apriori principle orders the
work: sets of one item are repaired first, then sets of two, up to m; a repair never makes another set rarer, because
raised nodes have more records. The work grows as records to the power of m: m of 2 or 3 is what one can do.

The chapter's Definition 2 speaks of "any m items". Read as exactly m it would not protect a person whose record is
shorter, and one rare place would be enough; up to m items is meant, here as in the paper. Table 1 (c) of the chapter is
the outcome for k = m = 2, see `generalisation` for what its caption says.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy.sparse import csr_array, triu

from density_assets.errors import BadInput
from density_assets.research.approaches.technique import Published, Technique
from density_assets.research.traces.matrix import Matrix, Traces
from density_assets.research.trajectories.counting import published
from density_assets.research.trajectories.cuts import finest_cut, indexed, recoded, repaired
from density_assets.research.trajectories.generalisation import GeneralisationChoices
from density_assets.research.trajectories.hierarchy import Hierarchy
from density_assets.research.trajectories.records import Generalised, item_hierarchy, item_traces

Ints = NDArray[np.int64]


class KmChoices(GeneralisationChoices):
    """m: items that an attacker knows of a person, at most. The others are those of k-anonymity."""

    m: int = Field(default=2, ge=1)


def rare_sets(records: Matrix, size: int, k: int) -> Iterator[frozenset[int]]:
    """Sets of exactly so many items that some records have, but fewer than k."""
    if size == 1:
        support = np.bincount(records.indices, minlength=records.shape[1])
        yield from (frozenset({int(item)}) for item in np.flatnonzero((support > 0) & (support < k)))
    elif size == 2:
        together = triu(csr_array(records.T) @ records, k=1).tocoo()
        rare = together.data < k
        yield from (frozenset({int(a), int(b)}) for a, b in zip(together.row[rare], together.col[rare], strict=True))
    else:
        yield from _rare_with_first(records, size, k)


def is_km_anonymous(records: Matrix, k: int, m: int) -> bool:
    """Whether any set of up to m items is in no record or in at least k."""
    require_m_within(records, m)
    return not any(any(True for _ in rare_sets(records, size, k)) for size in range(1, m + 1))


def km_cut(records: Matrix, hierarchy: Hierarchy, k: int, m: int) -> Ints:
    """The cut with which records are k^m-anonymous: the node of each item."""
    require_m_within(records, m)
    items, cut = indexed(records, hierarchy), finest_cut(hierarchy)
    for size in range(1, m + 1):
        for rare in list(rare_sets(recoded(records, cut, hierarchy), size, k)):
            cut = repaired(cut, rare, items, k)
    return cut


def km_anonymous(records: Matrix, hierarchy: Hierarchy, k: int, m: int) -> Matrix:
    """Records recoded by the cut, people x nodes."""
    return recoded(records, km_cut(records, hierarchy, k, m), hierarchy)


def require_m_within(records: Matrix, m: int) -> None:
    """Nobody can know more items of a person than the longest record has."""
    longest = int(np.diff(records.indptr).max(initial=0))
    if m > longest:
        raise BadInput(f"m must not be larger than the longest record, which has {longest} items, got m = {m}")


def km_generalised(traces: Traces, chosen: KmChoices) -> Generalised:
    """The k^m-anonymous records of traces."""
    items = item_traces(traces, chosen.parts_of_day)
    hierarchy = item_hierarchy(traces.positions, chosen.parts_of_day)
    nodes = km_anonymous(items.matrix, hierarchy, chosen.k, chosen.m)
    return Generalised(nodes, items.users, hierarchy)


def publish(traces: Traces, chosen: KmChoices, seed: int) -> Published:
    """k^m-anonymous records, counted to a density."""
    return published(km_generalised(traces, chosen), traces, chosen.parts_of_day, chosen.totals, seed)


def _rare_with_first(records: Matrix, size: int, k: int) -> Iterator[frozenset[int]]:
    """Rare sets by their first item: among the records that have it, the sets of later items one shorter."""
    by_item = csr_array(records.T)
    for item in np.flatnonzero(np.diff(by_item.indptr)):
        having = by_item.indices[by_item.indptr[item] : by_item.indptr[item + 1]]
        later = records[having]
        later = csr_array(later[:, item + 1 :])
        for rest in rare_sets(later, size - 1, k):
            yield frozenset({int(item)}) | frozenset(other + int(item) + 1 for other in rest)


KM_ANONYMITY = Technique(
    name="km_anonymity",
    approach="trajectories",
    protects="nobody",
    promise="whoever knows at most m items of a person finds no record or at least k; knowing more voids it",
    source="Terrovitis, Mamoulis & Kalnis 2008",
    parameters=KmChoices,
    publish=publish,
)
