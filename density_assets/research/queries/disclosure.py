"""Full disclosure by any set of queries: which bits are the same in all data sets consistent with the answers?

A query asks for some people, places and hours; the answer is the number of visits that fall into all three. The hidden
data are boolean: bit (user, place, hour) says whether the user was there. A query names a subset of bits and its answer
is their sum. The chapter's Q(S_L, S_T) sums over all users (§3), so users are exchangeable and only counts of nobody or
of everybody disclose a visit; auditing has a meaning because people can be chosen by what they did (§1.1.2). Whoever
asks is taken to know who satisfies such a predicate.

Kleinberg, Papadimitriou & Raghavan (2000) show that this is coNP-hard for boolean data; the chapter's Eq. (1). It is
decided here exactly by integer programs: to about a thousand bits where queries are small or many. Dozens of queries
over half of a hundred bits each ("market split") already take too long, and then it says so. Rounding the solution of
the linear program, which the chapter offers for the general case, is a reconstruction attack and decides nothing: a
value of 0.9 is no proof.

Bits that the same queries cover are exchangeable: any data set stays consistent when they swap values. So one whole
number counts a *class* of such bits, and a bit of it is disclosed if and only if that number is always 0 or always the
size of the class.

All classes are settled together. Of each class that has been 0 (or full) in every data set found so far, ask for as
much change as possible, in one sum. If the sum cannot reach 1, none of them can change: all are disclosed. Otherwise
the solution is a new data set which opens at least one class. Hence at most one program per open class, and one to end.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_array

from density_assets.errors import BadInput, some
from density_assets.research.traces.matrix import Matrix, Traces
from density_assets.series import Flags, Ints


def was_at(traces: Traces, places: Sequence[int], hours: Sequence[int] | None = None) -> Flags:
    """The predicate "was at one of the places in one of the hours" (any hour if none is named), for every user."""
    chosen_places = _numbers("places", places, traces.rois)
    chosen_hours = np.arange(traces.hours) if hours is None else _numbers("hours", hours, traces.hours)
    columns = (chosen_places[:, None] * traces.hours + chosen_hours).ravel()
    return np.asarray(traces.matrix[:, columns].sum(axis=1)).ravel() > 0


def query_rows(queries: Sequence[Ints], bits: int) -> Matrix:
    """Queries as the rows of a sparse 0/1 matrix over the bits."""
    for bit_numbers in queries:
        _numbers("bits", bit_numbers, bits)
    ends = np.cumsum([0, *(len(np.unique(one)) for one in queries)])
    indices = np.concatenate([np.unique(one) for one in queries]) if queries else np.zeros(0, np.int64)
    return csr_array((np.ones(len(indices), np.int64), indices, ends), shape=(len(queries), bits))


def checked_answers(rows: Matrix, answers: Sequence[int] | Ints) -> Ints:
    """The answers as whole numbers, if there is one per query and none is outside what its query covers."""
    values = np.asarray(answers)
    if values.shape != (rows.shape[0],):
        raise BadInput(f"there must be one answer for each of {rows.shape[0]} queries, got {values.size}")
    sizes = np.asarray(rows.sum(axis=1)).ravel()
    wrong = np.flatnonzero((values != np.floor(values)) | (values < 0) | (values > sizes))
    if wrong.size:
        found = some(f"{values[number]} for query {number} of {sizes[number]} visits" for number in wrong)
        raise BadInput(f"an answer must be a whole number from 0 to the size of its query, got {found}")
    return values.astype(np.int64)


def _numbers(name: str, chosen: Sequence[int] | Ints, count: int) -> Ints:
    values = np.unique(np.asarray(chosen, dtype=np.int64))
    unknown = values[(values < 0) | (values >= count)]
    if unknown.size:
        raise BadInput(f"the {name} of a query must be numbers from 0 to {count - 1}, got {some(unknown)}")
    if not values.size:
        raise BadInput(f"a query must name at least one of the {count} {name}, got none")
    return values


OPEN = -1  # a bit that answers leave open
SECONDS = 600.0  # for one integer program
ROUNDING = 1e-5  # the solver's own tolerances are a tenth of this
INFEASIBLE = 2  # scipy's status


class Undecided(RuntimeError):
    """An integer program took too long: the audit does not know, and must not guess."""


@dataclass(frozen=True)
class _Classes:
    """Bits by the queries that cover them. label: the class of each bit; sizes: bits per class; rows: queries."""

    label: Ints
    sizes: Ints
    rows: Matrix


def disclosed_bits(rows: Matrix, answers: Ints, seconds: float = SECONDS) -> Ints:
    """For each bit its value, if all boolean data sets consistent with the answers agree on it, else OPEN.

    rows: one 0/1 row per query (`query_rows`). seconds: the limit for one integer program.
    """
    if not rows.shape[0]:
        return np.full(rows.shape[1], OPEN)
    counts, classes = checked_answers(rows, answers), _classes(rows)
    first = _data_set(classes, counts, np.zeros(len(classes.sizes)), None, seconds)
    if first is None:
        raise BadInput(
            f"answers must be those of some data set, but no boolean data satisfy these {len(counts)} together: "
            "look for an answer that was noisy, rounded or of another week"
        )
    values = _settled(classes, counts, first, seconds)
    return np.asarray(values[classes.label])


def _settled(classes: _Classes, counts: Ints, first: Ints, seconds: float) -> Ints:
    always_none, always_all = first == 0, first == classes.sizes
    while (always_none | always_all).any():
        change = always_none.astype(float) - always_all
        # The sum of changes is change·y + Σ sizes of full classes; it must reach 1.
        least = 1.0 - float(classes.sizes[always_all].sum())
        other = _data_set(classes, counts, change, least, seconds)
        if other is None:
            break
        always_none, always_all = always_none & (other == 0), always_all & (other == classes.sizes)
    return np.where(always_none, 0, np.where(always_all, 1, OPEN))


def _classes(rows: Matrix) -> _Classes:
    """Bits are in one class if their columns are equal: compared by two random sums, then verified."""
    columns = rows.T.tocsr()
    marks = np.random.default_rng(0).integers(1, 2**31, (2, rows.shape[0]))
    _, first, label, sizes = np.unique(
        columns @ marks.T, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    label = label.ravel()
    if (columns != columns[first[label]]).nnz:
        raise ArithmeticError("two different sets of queries got the same marks: refuse to audit")
    return _Classes(label, sizes, csr_array(rows[:, first], dtype=float))


def _data_set(classes: _Classes, counts: Ints, goal: Any, least: float | None, seconds: float) -> Ints | None:
    """Class counts of a data set with a large goal·y that is at least `least`; None if there is none."""
    if least is not None and _bound(classes, counts, goal) < least - ROUNDING:
        return None  # even fractions of visits cannot: sufficient, and cheap
    constraints = [LinearConstraint(classes.rows, counts, counts)]
    if least is not None:
        constraints.append(LinearConstraint(csr_array(goal[None, :]), least, np.inf))
    found = milp(
        -goal,
        integrality=np.ones(len(goal), np.int64),
        bounds=Bounds(0, classes.sizes),
        constraints=constraints,
        options={"time_limit": seconds, "mip_rel_gap": 0.5},  # any change will do, a large one saves programs
    )
    if found.status == INFEASIBLE:
        return None
    if found.x is None:
        raise Undecided(f"an integer program over {len(goal)} classes of bits took more than {seconds:g} s: ask less")
    return _exact(classes, counts, np.rint(found.x).astype(np.int64))


def _bound(classes: _Classes, counts: Ints, goal: Any) -> float:
    """The largest goal·y over fractions: no data set has more."""
    ends: Any = np.column_stack([np.zeros(len(goal)), classes.sizes])
    found = linprog(-goal, A_eq=classes.rows, b_eq=counts, bounds=ends, method="highs")
    return -found.fun if found.fun is not None else np.inf


def _exact(classes: _Classes, counts: Ints, values: Ints) -> Ints:
    fits = (classes.rows @ values == counts).all() and ((values >= 0) & (values <= classes.sizes)).all()
    if not fits:
        raise ArithmeticError("the solver's data set does not have the answers when rounded: refuse to audit")
    return values
