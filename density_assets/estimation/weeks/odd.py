"""Days and towers that the past does not explain: they are taken from the week alone.

A holiday is lived at other places than usual, a tower opens or closes. There the past misleads, and what the week
itself says is better. A tower that has become another one forgets its past at once; a day only when it was odd for some
weeks in a row, because holidays end.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

DAY = 24
OTHER_SIZE = 0.5  # of the larger of then and now: a tower that changed by more may be another one,
CERTAIN_TOWER = 4.5  # if the change is so many standard errors
SHARED_HOURS = 12.0  # errors of the past are alike over so many hours
CERTAIN_DAY = 6.0  # standard errors of the median tower's misfit,
ODD_DAY = 0.1  # and at least so much more than noise and drift explain: below, the past still helps
MEDIAN = 0.972  # of the mean of 24 squares of standard normal numbers
MEDIAN_SPREAD = 1.2533  # standard error of a median, in those of a mean
MOST_SQUARE = 9.0  # what one hour may add to the misfit
PATIENCE = 3  # weeks in a row after which an odd day is a usual one
FORGOTTEN = 1e-3  # what is left of a past that is forgotten: not zero, so that means stay defined
TAUGHT = 0.1  # how far an odd day counts for the usual week


def odd_towers(noisy: Floats, sigma: float, expected: Floats, variance: Floats) -> Mask:
    """Towers that are much larger or smaller than expected, beyond doubt, on the median day.

    Size is what a tower has of the city's rhythm on a day. The median, because an event makes no other tower.
    """
    rhythm = expected.mean(axis=0)
    power = np.maximum(_by_day(rhythm**2), 1e-9)
    now, then = (np.median(_by_day(visits * rhythm) / power, axis=-1) for visits in (noisy, expected))
    errors = (sigma**2 * power + SHARED_HOURS * _by_day(variance * rhythm**2)) / power**2
    error = MEDIAN_SPREAD * np.sqrt(errors.mean(axis=-1) / len(power))
    change = np.abs(now - then)
    return np.asarray((change > OTHER_SIZE * np.maximum(now, then)) & (change > CERTAIN_TOWER * error))


def _by_day(values: Floats) -> Floats:
    """Sums over the hours of each day."""
    return np.asarray(values.reshape(*values.shape[:-1], -1, DAY).sum(axis=-1))


def odd_days(residual: Floats, variance: Floats, towers: Mask) -> Mask:
    """Days on which the median tower is farther from what was expected than noise and drift explain.

    The median, because events at some towers do not make a day odd. towers: those that are odd, left out.
    """
    squares = np.minimum(residual**2 / variance, MOST_SQUARE)[~towers]
    if not len(squares):
        return np.zeros(residual.shape[1] // DAY, bool)
    misfit = np.median(squares.reshape(len(squares), -1, DAY).mean(axis=2), axis=0)
    error = MEDIAN_SPREAD * np.sqrt(2 / DAY / len(squares))
    return np.asarray(misfit > MEDIAN + max(CERTAIN_DAY * error, ODD_DAY))


def remembered(towers: Mask, days: Mask, odd_weeks: Floats, use: Floats) -> tuple[Floats, Floats, Floats]:
    """What of the past each tower and hour keeps, how far this week counts for it, and the days' new counts."""
    in_row = np.where(days, odd_weeks + 1, 0)
    usual = in_row >= PATIENCE
    memory, taught = np.ones_like(use), use.copy()
    taught[:, np.repeat(days & ~usual, DAY)] *= TAUGHT
    memory[:, np.repeat(usual, DAY)] = FORGOTTEN
    memory[towers], taught[towers] = FORGOTTEN, 1.0
    return memory, taught, np.where(usual, 0.0, in_row)
