"""Hours in which a city falls silent: more likely missing records than people who are not there."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from density_assets.calendar import HOURS

SILENT_BELOW = 0.1  # of what the same hour has on other days
LIKELY, CERTAIN = 2.0, 4.0  # times the noise by which an hour must be below; sound weeks were never above 1.1


def silent_hours(
    totals: NDArray[np.float64],
    noise: NDArray[np.float64],
    missing: Iterable[int] = (),
    margin: float = LIKELY,
) -> list[int]:
    """Hours whose total is far below the same hour of the other days, by more than noise can have done.

    totals: the city's visits in each hour of the week.
    noise: how far noise may have moved each of them; zeros for the truth.
    missing: hours that do not happen.
    margin: how many times the noise an hour must be below what counts as silent.
    An empty week has no such hour: all its days are alike. Nor has one of few people, where nothing can be told.
    """
    days = totals.reshape(-1, 24)
    others = np.array([np.median(np.delete(days, day, axis=0), axis=0) for day in range(len(days))]).reshape(HOURS)
    silent = totals + margin * noise < SILENT_BELOW * others
    return sorted(set(np.flatnonzero(silent).tolist()) - set(missing))
