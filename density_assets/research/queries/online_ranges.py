"""Ranges audited as they come: each is answered unless its true answer would disclose a bit.

Whoever answers has the data, so true prefix sums are a solution for all answers ever given (`ranges.py`), and which
edges are tight is known from the start: each bit is one edge, i−1 → i if it is 1 and i → i−1 if it is 0. An answered
range adds an edge between its ends, both ways. While no bit is disclosed, no bit's edge is on a cycle. A range whose
ends a and b are not connected so far closes such a cycle iff one can be reached from the other:

* b from a and a from b: the answer follows from the past;
* one from the other only: the answer would close a cycle of tight edges, at least one of them a bit: denied;
* neither: answered.

Two searches decide each range: there are no potentials to repair and no components to find anew.

This auditor looks at the true answer, so its denials leak (`simulatable.py`).
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order

from density_assets.errors import BadInput, some
from density_assets.research.queries.query import Ints
from density_assets.research.traces.matrix import Matrix


@dataclass(frozen=True)
class _Tight:
    """Tight edges between the ends of bits, and the same as a graph."""

    start: Ints
    end: Ints
    graph: Matrix


def audited_online(bits: Ints, first: Ints, last: Ints) -> list[int | None]:
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
