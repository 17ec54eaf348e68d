"""Denials leak: an attack on the auditor who looks at the true answer, and auditors who do not look.

Kenthapadi, Mishra & Nissim (2005; 2013): whoever denies a query *because of its true answer* tells something about it.
The attack: of two bits, a naive auditor denies the sum exactly if it is 0 or 2, so a denial says that they are equal
and an answer that they differ. A chain of pairs gives all bits up to swapping zeros and ones, and three bits of
different chains decide which.

An auditor is simulatable if whoever asks could compute its decisions: then denials say nothing. Two of them are here.

* Real-valued data (`denied_sums`): a sum is denied if some unit vector e_i would lie in the span of all answered sums.
  Data are not looked at. It is sound for real numbers only: of booleans, "0 of these 5 were there" tells five bits.
* Boolean data (`denied_booleans`): deny if *any* answer that past ones allow would disclose a bit. It answers nothing,
  ever: of m bits nobody knows anything about, the answer 0 is possible and discloses all of them, so the first query is
  denied, hence also the next. On boolean visits, exact answers that are safe from full disclosure do not exist in this
  model; this is why the authors weaken full disclosure to a probabilistic notion, and why this software adds noise.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from density_assets.errors import BadInput
from density_assets.research.queries.full_disclosure import OPEN, consistent, disclosed_bits
from density_assets.research.queries.query import Bools, Ints, checked_answers, query_rows
from density_assets.research.traces.matrix import Matrix

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


def denied_sums(queries: Sequence[Ints], bits: int) -> Bools:
    """Which of these sums of real numbers, in the order they come, must be denied; nobody looks at data.

    Answered sums are kept in reduced row echelon form, in exact fractions. A vector of their span is the sum of the
    rows times its own entries at their pivots. For e_i this is one row, the one with pivot i, or nothing: e_i lies in
    the span iff it *is* a row. With no row of one entry, no number is determined.
    """
    rows: list[Any] = []
    return np.array([_denied_sum(rows, bit_numbers, bits) for bit_numbers in queries])


def _denied_sum(rows: list[Any], bit_numbers: Ints, bits: int) -> bool:
    """Whether to deny one more sum; `rows` gains it otherwise."""
    new = _reduced(_indicator(bit_numbers, bits), rows)
    if not new.any():
        return False  # it follows from past answers
    pivot = int(np.flatnonzero(new)[0])
    new = new / new[pivot]
    more = [row - row[pivot] * new for row in rows] + [new]
    if any(np.count_nonzero(row) == 1 for row in more):
        return True
    rows[:] = more
    return False


def _indicator(bit_numbers: Ints, bits: int) -> Any:
    chosen = query_rows([np.asarray(bit_numbers)], bits).toarray()[0]
    return np.array([Fraction(int(entry)) for entry in chosen], dtype=object)


def _reduced(vector: Any, rows: list[Any]) -> Any:
    for row in rows:
        vector = vector - vector[np.flatnonzero(row)[0]] * row
    return vector


def denied_booleans(rows: Matrix, answers: Ints, bit_numbers: Ints) -> bool:
    """Whether some answer to a query, consistent with past ones, would disclose a bit: by listing all data sets."""
    data = consistent(rows, checked_answers(rows, answers))
    if not len(data):
        raise BadInput(f"past answers must be those of some data set, got {len(answers)} that none satisfies")
    sums = data[:, bit_numbers].sum(axis=1)
    return any(_agreed(data[sums == answer]).any() for answer in np.unique(sums))


def _agreed(data: Bools) -> Bools:
    return np.asarray((data == data[0]).all(axis=0))
