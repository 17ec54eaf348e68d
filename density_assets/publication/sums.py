"""Sums of published counts and their errors: one place for the page, the files of regions and questions."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from density_assets.estimation.weeks.summary import Summary

Floats = NDArray[np.float64]

WITHIN = 1.96  # standard errors on either side of 95 %


@dataclass(frozen=True)
class WeekCounts:
    """The counts of one week, (cells, hours), their standard errors, and what tells the error of sums, if it is there.

    happens: whether an hour of the week does, when clocks change; counts of one that does not mean nothing.
    """

    visits: Floats
    error: Floats
    sums: Summary | None
    happens: NDArray[np.bool_]

    def error_of(self, areas: Floats, periods: Floats) -> Floats:
        """Standard errors of areas @ visits @ periods, for areas (k x cells) and periods (168 x p); NaN if not known.

        Where nothing tells how errors go together, that of one cell in one hour is known, and of no sum.
        """
        if self.sums is not None:
            return np.sqrt(self.sums.variance(self.visits, self.error, areas, periods))
        alone = np.outer(np.count_nonzero(areas, axis=1) == 1, np.count_nonzero(periods, axis=0) == 1)
        return np.where(alone, np.sqrt(areas**2 @ self.error**2 @ periods**2), np.nan)

    def error_of_each_cell(self, hours: Floats) -> Floats:
        """The same of every cell by itself, over the hours that 168 weights give."""
        if self.sums is None:
            return np.full(len(self.visits), np.nan)
        return np.sqrt(self.sums.of_each_cell(self.visits, self.error, hours))
