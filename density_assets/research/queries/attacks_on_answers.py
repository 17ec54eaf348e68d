"""Three attacks on answers: reconstruction from random counts, from chosen counts, and differences of large counts.

Reconstruction from noisy counts of random subsets
--------------------------------------------------
Dinur & Nissim (2003): if each query covers each visit with probability ½ and answers are wrong by o(√n), some n·log²n
answers give back almost all of n bits in polynomial time. In practice 4n to 10n do. A linear program
over 0 ≤ x ≤ 1 finds the least sum of absolute errors (Dwork, McSherry & Talwar 2007), which bears a share of answers
that are arbitrarily wrong; then x is rounded at one half.

It is solved in its dual, which has one constraint per bit instead of one per query. With A x − a the errors, min over x
of max over y in [−1, 1] of y·(A x − a) is max over y of −a·y + Σ min(0, (Aᵀy)_i). The bits are the prices of the
constraints w_i ≤ (Aᵀy)_i, w_i ≤ 0.

Reconstruction from n chosen counts of n = 2^k bits
---------------------------------------------------
They are the rows of a Hadamard matrix (Dwork & Yekhanin 2008). H has entries ±1, H = Hᵀ and H·H = n·I. A count covers a
subset, so row j is asked as the count of the bits where H_ji = +1, and row 0 is the count of everything. With c =
counts, (H x)_j = 2·c_j − c_0 =: a_j. Then z = H·a/n is x where counts are exact, computed in n·log n steps.

**At most 4‖e‖²/n bits are wrong**, with e the errors of a. z − x = H·e/n, and ‖H·e‖² = n·‖e‖², so Σ (z_i − x_i)² =
‖e‖²/n. A bit that rounding at ½ gets wrong has (z_i − x_i)² ≥ ¼, so there are at most 4‖e‖²/n of them.

With errors d of the counts, e = 2d − d_0. The common part −d_0 lands on bit 0 alone, as H·1 = n·(1, 0, …, 0): at most
1 + 16‖d‖²/n bits are wrong, at most 1 + 16·E² if each count is wrong by at most E. Independent noise of standard
deviation s leaves 2·s/√n on each z_i. So the noise that matters is s/√n; 95 % of bits are right up to 0.152, three
quarters up to 0.37, and a coin at ∞.

Differences of two counts of at least k people each
---------------------------------------------------
The chapter's example (§1.1.2): one query asks how many people were at the hospital, another how many were there except
those who were at L1 and L2. If only John was at both L1 and L2, the difference is 1 if he was at the hospital, else 0.
Both counts are at least k, so a release "only if at least k" (§3.3) answers both. It works on everybody who has such a
pair, patients or not, at every place that enough people visit.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, hstack

from density_assets.errors import BadInput
from density_assets.privacy.calibration import calibrate, gaussian_sigma
from density_assets.privacy.events import Gaussian
from density_assets.research.queries.disclosure import was_at
from density_assets.research.traces.matrix import Matrix, Traces, binary, trace_matrix
from density_assets.series import Flags, Floats, Ints


def random_subsets(bits: int, queries: int, seed: int) -> Flags:
    """Queries that cover each bit with probability one half, (queries, bits)."""
    return np.random.default_rng(seed).random((queries, bits)) < 0.5


def least_absolute_errors(rows: Flags, answers: Floats) -> Floats:
    """The x between 0 and 1 whose counts have the least sum of absolute errors."""
    matrix, values = _checked(rows, answers)
    queries, bits = matrix.shape
    constraints = hstack([-matrix.T, eye_array(bits)])
    bounds = [(-1.0, 1.0)] * queries + [(None, 0.0)] * bits
    return _prices(np.concatenate([values, -np.ones(bits)]), constraints, np.zeros(bits), bounds)[:bits]


def round_bits(x: Floats) -> Ints:
    """Bits from a solution of the program."""
    return (x > 0.5).astype(np.int64)


def share_right(guess: Ints, data: Ints) -> float:
    """The share of bits that were recovered: one half is what a coin recovers of random bits."""
    return float((guess == data).mean())


def _prices(objective: Floats, constraints: Any, limits: Floats, bounds: Any) -> Floats:
    # The interior point method is twice as fast as the simplex here: 2,048 dense columns of 512 rows in three seconds.
    found = linprog(objective, A_ub=constraints, b_ub=limits, bounds=bounds, method="highs-ipm")
    if found.x is None:
        raise ArithmeticError(f"the linear program must have a solution, the solver says: {found.message}")
    return np.asarray(np.clip(-found.ineqlin.marginals, 0.0, 1.0), float)


def _checked(rows: Flags, answers: Floats) -> tuple[Any, Floats]:
    values = np.asarray(answers, float)
    if rows.ndim != 2 or not rows.any(axis=1).all() or values.shape != (len(rows),):
        raise BadInput(
            f"there must be one answer per query, and each must cover a visit, got {values.size} answers to queries of "
            f"shape {rows.shape}"
        )
    if not np.isfinite(values).all():
        raise BadInput(f"answers must be finite numbers, got {np.count_nonzero(~np.isfinite(values))} others")
    return csr_array(rows, dtype=float), values


Attack = Callable[[Ints, float, int], float]

PER_BIT = 4  # random queries per bit of the linear program


def walsh_hadamard(values: Floats | Ints) -> Floats:
    """H times values, for a power of two of them, by the fast transform."""
    count = len(values)
    if count < 1 or count & (count - 1):
        raise BadInput(f"a Hadamard matrix of this kind has a power of two rows, got {count} values: pad the data")
    result, half = np.array(values, float), 1
    while half < count:
        pairs = result.reshape(-1, 2, half)
        result = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        half *= 2
    return result


def hadamard_subsets(bits: int) -> Flags:
    """The n counts to ask: bit i is in query j if i and j have an even number of common binary ones."""
    rows = np.array([walsh_hadamard(unit) for unit in np.eye(bits)])
    return np.asarray(rows > 0)


def bits_from_counts(counts: Floats) -> Ints:
    """The bits, from the (noisy) counts of all subsets of `hadamard_subsets`."""
    signed = 2 * np.asarray(counts, float) - counts[0]
    return round_bits(walsh_hadamard(signed) / len(counts))


def hadamard_attack(data: Ints, noise: float, seed: int) -> float:
    """The share of bits recovered from n Hadamard counts with Gaussian noise of this standard deviation."""
    exact = (walsh_hadamard(data) + data.sum()) / 2
    return share_right(bits_from_counts(exact + np.random.default_rng(seed).normal(0, noise, len(data))), data)


def program_attack(data: Ints, noise: float, seed: int) -> float:
    """The share of bits recovered by the linear program from 4n random counts with such noise."""
    rows = random_subsets(len(data), PER_BIT * len(data), seed)
    counts = rows @ data + np.random.default_rng([seed, 1]).normal(0, noise, len(rows))
    return share_right(round_bits(least_absolute_errors(rows, counts)), data)


def recovery_curve(attack: Attack, data: Ints, ratios: Sequence[float], seed: int) -> Floats:
    """The share of bits an attack recovers where noise is `ratio`·√n."""
    return np.array([attack(data, ratio * np.sqrt(len(data)), seed) for ratio in ratios])


def private_ratio(epsilon: float, delta: float) -> float:
    """The noise/√n of Hadamard counts that keep one bit per user (epsilon, delta)-private: where our own noise lies.

    Bit 0 is in all n counts and others are in half of them, so one user moves all counts together by √n in L2.
    """
    events = calibrate(lambda rho: [Gaussian("counts", gaussian_sigma(rho, 1.0), 1.0)], epsilon, delta)
    return sum(event.standard_deviation or 0.0 for event in events)


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


def threshold_count(who: Flags, k: int) -> int | None:
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


def learn_of_visit(traces: Traces, place: int, pair: Pair, k: int, known: Traces | None = None) -> bool | None:
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


def _finding(patients: Flags, user: int, k: int) -> bool | None:
    """What `learn_of_visit` says of a user whose pair nobody else has, without a pass over the traces for each."""
    without = patients.copy()
    without[user] = False
    counts = threshold_count(patients, k), threshold_count(without, k)
    return None if counts[0] is None or counts[1] is None else counts[0] - counts[1] == 1
