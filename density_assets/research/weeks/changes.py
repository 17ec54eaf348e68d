"""What may happen in one week, as a change of what is counted; said are the towers and hours it concerns."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from density_assets.research.weeks.counting import WeekCounts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Effect:
    """Visits x become factor_it · x_jh + extra_it, where j = towers_i and h = hours_t are where they are taken from.

    concerned: towers by hours; nothing else changes.
    extra: visits that come on top, by people like all others: they get the weight that visits have on average.
    """

    concerned: Mask
    factor: Floats
    extra: Floats
    towers: Ints
    hours: Ints


def effect(
    concerned: Mask,
    factor: Floats | float = 1.0,
    extra: Floats | float = 0.0,
    towers: Ints | None = None,
    hours: Ints | None = None,
) -> Effect:
    """An effect that leaves alone what is not given and whatever is not concerned."""
    rows, columns = concerned.shape
    return Effect(
        concerned,
        np.where(concerned, factor, 1.0),
        np.where(concerned, extra, 0.0),
        np.arange(rows) if towers is None else towers,
        np.arange(columns) if hours is None else hours,
    )


def happen(week: WeekCounts, what: Effect) -> WeekCounts:
    """The week as it would have been counted; all counts change alike, so bounds on users' weights still hold."""

    def changed(counts: Floats, weight: float) -> Floats:
        return what.factor * counts[np.ix_(what.towers, what.hours)] + weight * what.extra

    visits = week.original.sum()
    original = changed(week.original, 1.0)
    weighted = {name: changed(counts, counts.sum() / visits) for name, counts in week.weighted.items()}
    taken = week.original.sum(axis=1)[what.towers]
    left = (original - what.extra).sum(axis=1) / np.maximum(taken, 1.0)
    totals = left * week.tower_totals[what.towers] + week.tower_totals.sum() / visits * what.extra.sum(axis=1)
    return WeekCounts(original, weighted, totals, week.visits * float(original.sum() / visits))
