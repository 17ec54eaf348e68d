"""Hours in which a city falls silent: more likely missing records than people who are not there."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from density_assets.calendar import HOURS

SILENT_BELOW = 0.1  # of what the same hour has on other days
CLEAR_ABOVE = 3.0  # times the noise: below it, silence cannot be told from noise
CERTAIN_ABOVE = 8.0  # times the noise: standard errors are of first order, and too small where there are few people


def silent_hours(
    totals: NDArray[np.float64],
    noise: NDArray[np.float64],
    missing: Iterable[int] = (),
    above: float = CLEAR_ABOVE,
) -> list[int]:
    """Hours whose total is far below the same hour of the other days, where that can be told from noise.

    totals: the city's visits in each hour of the week.
    noise: how far noise may have moved each of them; zeros for the truth.
    missing: hours that do not happen.
    above: how many times the noise an hour must have on other days to be missed.
    An empty week has no such hour: all its days are alike.
    """
    days = totals.reshape(-1, 24)
    others = np.array([np.median(np.delete(days, day, axis=0), axis=0) for day in range(len(days))]).reshape(HOURS)
    silent = (totals < SILENT_BELOW * others) & (others > above * noise)
    return sorted(set(np.flatnonzero(silent).tolist()) - set(missing))
