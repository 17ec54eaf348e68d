"""The differencing attack on a threshold: two counts of at least k people each, which differ by one person.

The chapter's example (§1.1.2): one query asks how many people were at the hospital, another how many were there except
those who were at L1 and L2. If only John was at both L1 and L2, the difference is 1 if he was at the hospital, else 0.
Both counts are at least k, so a release "only if at least k" (§3.3) answers both. It works on everybody who has such a
pair, patients or not, at every place that enough people visit.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from density_assets.errors import BadInput
from density_assets.research.queries.query import Bools, Ints, was_at
from density_assets.research.traces.matrix import Matrix, Traces, binary, trace_matrix

Pair = tuple[int, int]
NO_PAIR = -1
BLOCK = 500  # columns at a time


@dataclass(frozen=True)
class Attacked:
    """What differencing at one place and one k finds out.

    people: in the traces. visitors: of the place. pairs: people who alone were at both of two points. learnt: people
    of whom it is learnt whether they were at the place; of_visitors: those of them who were. wrong: false findings.
    """

    people: int
    visitors: int
    pairs: int
    learnt: int
    of_visitors: int
    wrong: int


def threshold_count(who: Bools, k: int) -> int | None:
    """How many people satisfy a predicate, if at least k do, else nothing."""
    if k < 1:
        raise BadInput(f"a threshold must be at least 1 person, got k={k}")
    count = int(who.sum())
    return count if count >= k else None


def by_place(traces: Traces) -> Traces:
    """The same people with hours forgotten: points become places."""
    user, place, _ = traces.points()
    return trace_matrix(traces, user, place, np.zeros_like(user), 1)


def unique_pairs(traces: Traces, avoid: Sequence[int] = ()) -> Ints:
    """For each user two points (columns) that nobody else has both of, (users, 2); -1 where there are none.

    avoid: points that may not be used, since to know them would be to know the answer.

    Of each pair of points the product of the matrix with itself says how many people have both; where that is one
    person, the same product with numbers of people for ones says who. In blocks of columns, to bound memory.
    """
    matrix, pairs = _without(traces.matrix, avoid), np.full((len(traces.users), 2), NO_PAIR)
    numbered = csr_array(matrix, dtype=np.int64)
    numbered.data = traces.points()[0][np.isin(traces.matrix.indices, avoid, invert=True)] + 1
    columns = matrix.astype(np.int64).T.tocsr()
    for start in range(0, columns.shape[0], BLOCK):
        block = columns[start : start + BLOCK]
        people, who = (block @ matrix).tocoo(), (block @ numbered).tocoo()
        alone = (people.data == 1) & (people.row + start < people.col)  # each pair once, no point with itself
        pairs[who.data[alone] - 1] = np.column_stack([people.row[alone] + start, people.col[alone]])
    return pairs


def _without(matrix: Matrix, avoid: Sequence[int]) -> Matrix:
    user = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    kept = np.isin(matrix.indices, avoid, invert=True)
    return binary(user[kept], matrix.indices[kept], matrix.shape)


def learnt(traces: Traces, place: int, pair: Pair, k: int, known: Traces | None = None) -> bool | None:
    """Whether the one person with this pair of points was at the place, from two counts; None if one is withheld.

    known: traces whose columns the points of the pair are, where they are not those of `traces` (`by_place`).
    """
    patients = was_at(traces, [place])
    points = (traces if known is None else known).matrix[:, list(pair)]
    with_pair = np.asarray(points.sum(axis=1)).ravel() == 2
    all_of_them, all_but_one = threshold_count(patients, k), threshold_count(patients & ~with_pair, k)
    return None if all_of_them is None or all_but_one is None else all_of_them - all_but_one == 1


def attack_everybody(traces: Traces, place: int, k: int, *, places_only: bool = False) -> Attacked:
    """Differencing against each person of a town, with a pair of points outside the place.

    places_only: whether the attacker knows two places of each victim, rather than two places with their hours.
    """
    known = by_place(traces) if places_only else traces
    avoid = range(place * known.hours, (place + 1) * known.hours)
    patients, pairs = was_at(traces, [place]), unique_pairs(known, avoid)
    victims = np.flatnonzero(pairs[:, 0] != NO_PAIR).tolist()
    findings = {user: _finding(patients, user, k) for user in victims}
    told = {user: finding for user, finding in findings.items() if finding is not None}
    return Attacked(
        people=len(traces.users),
        visitors=int(patients.sum()),
        pairs=len(victims),
        learnt=len(told),
        of_visitors=sum(bool(patients[user]) for user in told),
        wrong=sum(finding != bool(patients[user]) for user, finding in told.items()),
    )


def _finding(patients: Bools, user: int, k: int) -> bool | None:
    """What `learnt` says of a user whose pair nobody else has, without a pass over the traces for each."""
    without = patients.copy()
    without[user] = False
    counts = threshold_count(patients, k), threshold_count(without, k)
    return None if counts[0] is None or counts[1] is None else counts[0] - counts[1] == 1
