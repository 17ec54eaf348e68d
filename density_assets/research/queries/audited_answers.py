"""Exact answers under an auditor, and what leaves all the same.

The density is asked for place by place and hour by hour. A query counts all users, who are exchangeable, so a single
visit is disclosed by a count of nobody or of everybody alone. The auditor denies these, by looking at the answer; and a
reader reads every denial, since a count of everybody does not happen: nothing is hidden.

Queries about some users tell more. Users are put in a row along the Hilbert curve of the places where they are most,
and ranges of them are asked how many were at the busiest place. What all answers determine together, how many an
auditor must deny so that they determine nothing, and what its denials tell, is in the facts.

Full disclosure by ranges, queries that cover consecutive bits of a known order
-------------------------------------------------------------------------------
With prefix sums s_0 … s_n of the bits every fact is a difference: a range [a, b) with answer c says s_b − s_a = c, a
bit says 0 ≤ s_i − s_{i−1} ≤ 1. As edges u → v of cost w for s_v − s_u ≤ w: i−1 → i costs 1, i → i−1 costs 0, a → b
costs c, b → a costs −c. Whole numbers s with s_v ≤ s_u + w for all edges exist iff no cycle is negative, and the
largest s_v − s_u of all of them is the distance from u to v. All costs are whole, so fractions change nothing here.

Bit i is disclosed iff max(s_i − s_{i−1}) = min(s_i − s_{i−1}), that is dist(i−1 → i) + dist(i → i−1) = 0: both ends lie
on a closed walk of cost 0. With any solution s, reduced costs w + s_u − s_v are ≥ 0 and sum to the same along a closed
walk, so all its edges are *tight* (reduced cost 0). Conversely a closed walk of tight edges costs 0. Hence: **bit i is
disclosed iff i−1 and i are in the same strongly connected component of the tight edges**. One solution and one search
for components audit everything; no pairwise distances, no linear programs.

Ranges audited as they come: each is answered unless its true answer would disclose a bit
----------------------------------------------------------------------------------------
Whoever answers has the data, so true prefix sums are a solution for all answers ever given, and which
edges are tight is known from the start: each bit is one edge, i−1 → i if it is 1 and i → i−1 if it is 0. An answered
range adds an edge between its ends, both ways. While no bit is disclosed, no bit's edge is on a cycle. A range whose
ends a and b are not connected so far closes such a cycle iff one can be reached from the other:

* b from a and a from b: the answer follows from the past;
* one from the other only: the answer would close a cycle of tight edges, at least one of them a bit: denied;
* neither: answered.

Two searches decide each range: there are no potentials to repair and no components to find anew.

Denials leak: an attack on an auditor who looks at the true answer
------------------------------------------------------------------
Kenthapadi, Mishra & Nissim (2005; 2013): whoever denies a query *because of its true answer* tells something about it.
The attack: of two bits, a naive auditor denies the sum exactly if it is 0 or 2, so a denial says that they are equal
and an answer that they differ. A chain of pairs gives all bits up to swapping zeros and ones, and three bits of
different chains decide which.

An auditor is simulatable if whoever asks could compute its decisions: then denials say nothing. `denied_sums` is one
for sums of real numbers, and sound for these only: "0 of these 5 were there" tells five bits. Of boolean data such an
auditor must deny if *any* answer that past ones allow would disclose a bit, so it answers nothing, ever: of m bits
nobody knows anything about, the answer 0 is possible and discloses all of them, so the first query is denied, hence
also the next. On boolean visits, exact answers that are safe from full disclosure do not exist in this model; this is
why the authors weaken full disclosure to a probabilistic notion, and why this software adds noise.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
from pydantic import Field
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from density_assets.errors import BadInput, some
from density_assets.research.approaches.technique import Parameters, Published, Technique
from density_assets.research.queries.disclosure import OPEN, disclosed_bits, query_rows, was_at
from density_assets.research.queries.workload import hilbert_order
from density_assets.research.study import Row
from density_assets.research.traces.matrix import Matrix, Traces
from density_assets.series import Flags, Ints


@dataclass(frozen=True)
class RangeAudit:
    """Answered ranges [first, last) over `bits` bits, with prefix sums `sums` of one data set that has the answers."""

    bits: int
    first: Ints
    last: Ints
    counts: Ints
    sums: Ints


def audit_ranges(bits: int, first: Ints, last: Ints, counts: Ints) -> RangeAudit:
    """All ranges at once."""
    first, last, counts = (np.asarray(values, np.int64) for values in (first, last, counts))
    _check(bits, first, last, counts)
    # Every other bit of the first data set is 1, so that repairs find room nearby both ways.
    start = RangeAudit(bits, first, last, counts, np.arange(bits + 1) // 2)
    return replace(start, sums=_lowered(start, rounds=bits + 2))


def disclosed_by_ranges(audit: RangeAudit) -> Ints:
    """For each bit its value, if all data sets with these answers agree on it, else OPEN."""
    values, component = np.diff(audit.sums), _components(audit)
    return np.where(component[:-1] == component[1:], values, OPEN)


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


@dataclass(frozen=True)
class _Tight:
    """Tight edges between the ends of bits, and the same as a graph."""

    start: Ints
    end: Ints
    graph: Matrix


def audit_online(bits: Ints, first: Ints, last: Ints) -> list[int | None]:
    """Answers to ranges [first, last) of the bits in the order they come; None where one is denied."""
    ends = list(zip(first.tolist(), last.tolist(), strict=True))
    if wrong := [pair for pair in ends if not 0 <= pair[0] < pair[1] <= len(bits)]:
        raise BadInput(f"a range must lie within [0, {len(bits)}) and cover at least one visit, got {some(wrong)}")
    sums, tight, answers = np.concatenate([[0], np.cumsum(bits)]), _of_bits(bits), list[int | None]()
    for a, b in ends:
        onward, back = _leads(tight, a, b), _leads(tight, b, a)
        if not (onward or back):
            tight = _tight(np.append(tight.start, [a, b]), np.append(tight.end, [b, a]), len(bits) + 1)
        answers.append(int(sums[b] - sums[a]) if onward == back else None)
    return answers


def _of_bits(bits: Ints) -> _Tight:
    left, up = np.arange(len(bits)), np.asarray(bits, bool)
    return _tight(np.where(up, left, left + 1), np.where(up, left + 1, left), len(bits) + 1)


def _tight(start: Ints, end: Ints, nodes: int) -> _Tight:
    return _Tight(start, end, coo_array((np.ones(len(start)), (start, end)), shape=(nodes, nodes)).tocsr())


def _leads(tight: _Tight, start: int, end: int) -> bool:
    reached = breadth_first_order(tight.graph, start, return_predecessors=False)
    return bool((reached == end).any())


Ask = Callable[[Ints], int | None]


@dataclass
class NaiveAuditor:
    """Answers sums of hidden bits unless all answers together would disclose one: sees the truth, so denials leak."""

    data: Ints
    asked: list[Ints]
    answers: list[int]

    @classmethod
    def of(cls, data: Ints) -> "NaiveAuditor":
        """Before the first query."""
        return cls(data, [], [])

    def ask(self, bit_numbers: Ints) -> int | None:
        """The sum of some bits, or None."""
        answer = int(self.data[bit_numbers].sum())
        asked, answers = [*self.asked, bit_numbers], [*self.answers, answer]
        if (disclosed_bits(query_rows(asked, len(self.data)), np.array(answers)) != OPEN).any():
            return None
        self.asked, self.answers = asked, answers
        return answer


def bits_from_denials(ask: Ask, bits: int) -> Ints | None:
    """All bits, learnt from answers and denials of an auditor who looks at the truth.

    None if the last question remains open: fewer than three chains, or all chains alike (all bits equal).
    """
    answered = np.array([ask(np.array([bit, bit + 1])) is not None for bit in range(bits - 1)])
    guess = np.concatenate([[0], np.cumsum(answered) % 2])  # answered pairs differ, denied pairs are equal
    chain = np.concatenate([[0], np.cumsum(~answered)])  # to the auditor, bits of different chains are independent
    trio = _uneven_trio(guess, chain)
    ones = ask(trio) if trio is not None else None
    if trio is None or ones is None:
        return None
    return guess if ones == guess[trio].sum() else 1 - guess


def _uneven_trio(guess: Ints, chain: Ints) -> Ints | None:
    """Bits of three chains that are not all equal: their sum is 1 or 2, which discloses none and decides the swap."""
    zeros, ones = (dict(zip(chain[guess == value], np.flatnonzero(guess == value), strict=True)) for value in (0, 1))
    for few, many in ((zeros, ones), (ones, zeros)):
        for one in few:
            others = [bit for other, bit in many.items() if other != one][:2]
            if len(others) == 2:
                return np.sort([few[one], *others])
    return None


ATTACKED = 16  # users whose visits are learnt from denials


def denied_sums(queries: Sequence[Ints], bits: int) -> Flags:
    """Return which of these sums of real numbers, in the order they come, must be denied; nobody looks at data.

    Answered sums are kept in reduced row echelon form, in exact fractions. A vector of their span is the sum of the
    rows times its own entries at their pivots. For e_i this is one row, the one with pivot i, or nothing: e_i lies in
    the span iff it *is* a row. With no row of one entry, no number is determined.
    """
    rows: list[Any] = []
    return np.array([_denies_sum(rows, query, bits) for query in queries])


def _denies_sum(rows: list[Any], query: Ints, bits: int) -> bool:
    """Whether to deny one more sum; `rows` gains it otherwise."""
    new: Any = np.array([Fraction(int(entry)) for entry in query_rows([query], bits).toarray()[0]], dtype=object)
    for row in rows:
        new = new - new[np.flatnonzero(row)[0]] * row
    if not new.any():
        return False  # it follows from past answers
    pivot = int(np.flatnonzero(new)[0])
    new = new / new[pivot]
    more = [row - row[pivot] * new for row in rows] + [new]
    if any(np.count_nonzero(row) == 1 for row in more):
        return True
    rows[:] = more
    return False


class AuditedParameters(Parameters):
    """ranges: how many random ranges of users are asked about the busiest place."""

    ranges: Annotated[int, Field(ge=1, le=10_000)] = 200


def publish(traces: Traces, parameters: AuditedParameters, seed: int) -> Published:
    """The counts as a reader of answers and denials knows them."""
    if not traces.matrix.nnz:
        raise BadInput("there must be visits to ask for, got traces without any")
    counts = traces.aggregate().astype(np.float64)
    denied = (counts == 0) | (counts == len(traces.users))
    facts = {"queries": counts.size, "denied": int(denied.sum()), **range_facts(traces, parameters.ranges, seed)}
    return Published(np.where(denied, 0.0, counts), facts=facts)


def range_facts(traces: Traces, ranges: int, seed: int) -> Row:
    """What ranges of users disclose, what an auditor denies, and what its denials tell."""
    bits, rng = users_in_a_row(traces), np.random.default_rng(seed)
    first, last = np.sort(rng.integers(len(bits), size=(ranges, 2)), axis=1).T
    sums = np.concatenate([[0], np.cumsum(bits)])
    audit = audit_ranges(len(bits), first, last + 1, sums[last + 1] - sums[first])
    online = audit_online(bits, first, last + 1)
    some = bits[rng.permutation(len(bits))[:ATTACKED]]
    learnt = bits_from_denials(NaiveAuditor.of(some).ask, len(some))
    return {
        "disclosed_by_ranges": float((disclosed_by_ranges(audit) != OPEN).mean()),
        "ranges_denied": float(np.mean([answer is None for answer in online])),
        "learnt_from_denials": 0.0 if learnt is None else float((learnt == some).mean()),
    }


def users_in_a_row(traces: Traces) -> Ints:
    """Whether each user was at the busiest place, in the order of the places where users are most."""
    user, place, _ = traces.points()
    visits = np.zeros((len(traces.users), traces.rois))
    np.add.at(visits, (user, place), 1)
    along = np.argsort(hilbert_order(traces.positions))[visits.argmax(axis=1)]
    return was_at(traces, [int(visits.sum(axis=0).argmax())])[np.argsort(along, kind="stable")].astype(np.int64)


AUDITED_ANSWERS = Technique(
    name="audited_answers",
    approach="queries",
    protects="nobody",
    promise="no answer, nor all of them together, determines a visit; denials do",
    source="Kleinberg, Papadimitriou & Raghavan 2000; Kenthapadi, Mishra & Nissim 2005",
    parameters=AuditedParameters,
    publish=publish,
)
