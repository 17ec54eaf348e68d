"""Cumulative chances, and a search in them that takes one look at a table and a step or two.

Most of the time that a simulated city takes is spent looking up which of many ways a random number falls. The answers
are those of `np.searchsorted` for every number, so that people stay who they are.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Steps:
    """Ascending numbers from 0 on, among which others are to be found.

    Every unit is cut into slots, and of each slot it is known how many of the numbers lie before it.
    """

    def __init__(self, ascending: Floats, upto: int, slots: int) -> None:
        """
        upto: no number above will be looked for.
        slots: of one unit; a power of two, so that a number times it is exact, and with it the slot.
        """
        self._slots = slots
        self._ascending = np.append(ascending, np.inf)
        starts = np.arange(upto * slots + 1) / slots
        self._before = np.searchsorted(ascending, starts, side="right").astype(np.int32)

    def find(self, numbers: Floats) -> Ints:
        """How many of the ascending numbers are at most as large, for each number."""
        position = self._before[(numbers * self._slots).astype(np.int64)].astype(np.int64)
        behind = np.nonzero(self._ascending[position] <= numbers)
        while len(behind[0]):
            position[behind] += 1
            further = self._ascending[position[behind]] <= numbers[behind]
            behind = tuple(axis[further] for axis in behind)
        return position
