"""A week, estimated again once weeks after it are known: a smoother, made of two filters.

What is known of a usual week is made of sums, so the weeks after can be folded like the weeks before, the newest first,
and both sums added: the week is then estimated as if all other weeks lay before it. A side that does not know a tower
or a day as it is in this week, because it opened or closed in between or people came to live otherwise, gives way there
to the other side. All of it is post-processing, as in `estimate.py`.
"""

from functools import reduce

import numpy as np
from numpy.typing import NDArray

from density_assets.estimation.kronecker import nearness
from density_assets.estimation.sizes import Ground
from density_assets.estimation.weeks.estimate import WeekEstimate, estimate_week, first_look
from density_assets.estimation.weeks.measured import Measured
from density_assets.estimation.weeks.odd import DAY, FORGOTTEN
from density_assets.estimation.weeks.state import State

Floats = NDArray[np.float64]


def final_week(before: State | None, after: State | None, measured: Measured, xy: Floats) -> WeekEstimate:
    """The estimate of a week between others.

    before: what the weeks before have left, oldest first. after: what the weeks after have left, newest first. Either
    may be None where there is no such week. xy: positions of the towers, distinct.
    """
    ground = Ground.of(xy, nearness(xy))
    sides = [_agreeing(side, measured, ground) for side in (before, after) if side is not None and side.tells]
    return estimate_week(reduce(State.joined, sides) if sides else None, measured, xy, ground)[0]


def _agreeing(side: State, measured: Measured, ground: Ground) -> State:
    """What one side says, but hardly of the towers and days that it knows otherwise than this week does."""
    look = first_look(side, measured, ground)
    odd = look.towers[:, None] | np.repeat(look.days, DAY)
    return side.faded(np.where(odd, FORGOTTEN, 1.0))
