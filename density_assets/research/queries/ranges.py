"""Full disclosure by ranges: queries that cover consecutive bits of a known order (`hilbert.py` gives one of places).

With prefix sums s_0 … s_n of the bits every fact is a difference: a range [a, b) with answer c says s_b − s_a = c, a
bit says 0 ≤ s_i − s_{i−1} ≤ 1. As edges u → v of cost w for s_v − s_u ≤ w: i−1 → i costs 1, i → i−1 costs 0, a → b
costs c, b → a costs −c. Whole numbers s with s_v ≤ s_u + w for all edges exist iff no cycle is negative, and the
largest s_v − s_u of all of them is the distance from u to v. All costs are whole, so fractions change nothing here.

Bit i is disclosed iff max(s_i − s_{i−1}) = min(s_i − s_{i−1}), that is dist(i−1 → i) + dist(i → i−1) = 0: both ends lie
on a closed walk of cost 0. With any solution s, reduced costs w + s_u − s_v are ≥ 0 and sum to the same along a closed
walk, so all its edges are *tight* (reduced cost 0). Conversely a closed walk of tight edges costs 0. Hence: **bit i is
disclosed iff i−1 and i are in the same strongly connected component of the tight edges**. One solution and one search
for components audit everything; no pairwise distances, no linear programs.

Answers may also come one by one (`with_answer`), from whoever audits without the data; who has them decides each range
before answering it in `online_ranges.py`.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

from density_assets.errors import BadInput, some
from density_assets.research.queries.full_disclosure import OPEN
from density_assets.research.queries.query import Ints


@dataclass(frozen=True)
class RangeAudit:
    """Answered ranges [first, last) over `bits` bits, with prefix sums `sums` of one data set that has the answers."""

    bits: int
    first: Ints
    last: Ints
    counts: Ints
    sums: Ints


def nothing_asked(bits: int) -> RangeAudit:
    """Before the first query; every other bit of the data set is 1, so that repairs find room nearby both ways."""
    none = np.zeros(0, np.int64)
    return RangeAudit(bits, none, none, none, np.arange(bits + 1) // 2)


def audit_ranges(bits: int, first: Ints, last: Ints, counts: Ints) -> RangeAudit:
    """All ranges at once."""
    first, last, counts = (np.asarray(values, np.int64) for values in (first, last, counts))
    _check(bits, first, last, counts)
    asked = replace(nothing_asked(bits), first=first, last=last, counts=counts)
    return replace(asked, sums=_lowered(asked, rounds=bits + 2))


def with_answer(audit: RangeAudit, first: int, last: int, count: int) -> RangeAudit:
    """One more range: the data set that was found so far is repaired, not sought anew."""
    one = np.array([first]), np.array([last]), np.array([count])
    _check(audit.bits, *one)
    more = [np.append(old, new) for old, new in zip((audit.first, audit.last, audit.counts), one, strict=True)]
    asked = replace(audit, first=more[0], last=more[1], counts=more[2])
    return replace(asked, sums=_lowered(asked, rounds=audit.bits + 2))


def disclosed_by_ranges(audit: RangeAudit) -> Ints:
    """For each bit its value, if all data sets with these answers agree on it, else OPEN."""
    values, component = np.diff(audit.sums), _components(audit)
    return np.where(component[:-1] == component[1:], values, OPEN)


def possible_answers(audit: RangeAudit, first: int, last: int) -> tuple[int, int]:
    """The least and the largest answer to a range that past answers allow; all whole numbers between are possible."""
    _check(audit.bits, np.array([first]), np.array([last]), np.zeros(1, np.int64))
    now = int(audit.sums[last] - audit.sums[first])
    return now - _slack(audit, last, first), now + _slack(audit, first, last)


def _check(bits: int, first: Ints, last: Ints, counts: Ints) -> None:
    if not first.shape == last.shape == counts.shape:
        raise BadInput(f"each range needs a start, an end and an answer, got {len(first)}, {len(last)}, {len(counts)}")
    wrong = np.flatnonzero((first < 0) | (last > bits) | (first >= last))
    if wrong.size:
        found = some(f"[{first[number]}, {last[number]})" for number in wrong)
        raise BadInput(f"a range must lie within [0, {bits}) and cover at least one visit, got {found}")
    wrong = np.flatnonzero((counts < 0) | (counts > last - first))
    if wrong.size:
        found = some(f"{counts[number]} for [{first[number]}, {last[number]})" for number in wrong)
        raise BadInput(f"an answer must be a whole number from 0 to the size of its range, got {found}")


def _lowered(audit: RangeAudit, rounds: int) -> Ints:
    """Prefix sums that satisfy everything, by lowering those of the audit: Bellman & Ford, in whole sweeps.

    A round relaxes all edges between neighbours to the end (two cumulative minima) and each range once. A shortest
    path without cycles takes at most `bits` ranges, so whoever still changes after as many rounds is on a negative
    cycle. So is whoever falls below the least start by more than `bits`, the most that two sums of a data set differ.
    """
    steps, sums = np.arange(audit.bits + 1), audit.sums.copy()
    lowest = sums.min() - audit.bits
    for _ in range(rounds):
        before = sums.copy()
        np.minimum.at(sums, audit.last, sums[audit.first] + audit.counts)
        np.minimum.at(sums, audit.first, sums[audit.last] - audit.counts)
        sums = np.minimum.accumulate(sums - steps) + steps
        sums = np.minimum.accumulate(sums[::-1])[::-1]
        if np.array_equal(sums, before):
            return np.asarray(sums - sums[0])
        if sums.min() < lowest:
            break
    raise BadInput(
        f"answers must be those of some data set, but no boolean data satisfy these {len(audit.counts)} ranges "
        "together: look for an answer that was noisy, rounded or of another week"
    )


def _edges(audit: RangeAudit) -> tuple[Ints, Ints, Ints]:
    """From, to and reduced cost of all edges; ranges are tight both ways."""
    left, bit = np.arange(audit.bits), np.diff(audit.sums)
    start = np.concatenate([left, left + 1, audit.first, audit.last])
    end = np.concatenate([left + 1, left, audit.last, audit.first])
    return start, end, np.concatenate([1 - bit, bit, np.zeros(2 * len(audit.first), np.int64)])


def _components(audit: RangeAudit) -> Ints:
    start, end, cost = _edges(audit)
    tight, nodes = cost == 0, audit.bits + 1
    graph = coo_array((np.ones(tight.sum(), np.int8), (start[tight], end[tight])), shape=(nodes, nodes))
    return np.asarray(connected_components(graph, connection="strong")[1], np.int64)


def _slack(audit: RangeAudit, start: int, end: int) -> int:
    """The reduced distance: by how much s_end − s_start can grow."""
    nodes = audit.bits + 1
    one, other, cost = _edges(audit)
    order = np.lexsort((cost, one * nodes + other))
    # Of parallel edges the cheapest: scipy would add them up. Zeros are stored, so they are edges of cost 0.
    _, cheapest = np.unique((one * nodes + other)[order], return_index=True)
    chosen = order[cheapest]
    graph = csr_array((cost[chosen], (one[chosen], other[chosen])), shape=(nodes, nodes))
    return int(dijkstra(graph, indices=[start])[0, end])
