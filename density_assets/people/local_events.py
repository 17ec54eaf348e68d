"""What happens once, in one place: concerts, matches, fairs, and strikes that empty a place for a day."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from density_assets.people.fields import WEEK_HOURS

# Gatherings: first hour of the day at the earliest and latest, hours they last, share of all people who go.
GATHERINGS: dict[str, tuple[int, int, int, float]] = {
    "concert": (19, 21, 4, 0.004),
    "match": (15, 20, 3, 0.010),
    "fair": (9, 13, 9, 0.005),
    "demonstration": (12, 15, 4, 0.006),
}
GATHERINGS_PER_WEEK = (4, 8)
STRIKES_PER_WEEK = (1, 3)
STRIKE_REACH = 500.0
STRIKE_LEFT = 0.35  # what a strike leaves of a place's attraction


@dataclass(frozen=True)
class Gatherings:
    """The gatherings of one week: where, when, and which share of people goes to each."""

    tower: NDArray[np.int64]
    first_hour: NDArray[np.int64]
    hours: NDArray[np.int64]
    share: NDArray[np.float64]


def gatherings(towers: int, rng: np.random.Generator) -> Gatherings:
    """Draw the gatherings of a week."""
    count = int(rng.integers(*GATHERINGS_PER_WEEK, endpoint=True))
    settings = np.array(list(GATHERINGS.values()))[rng.integers(len(GATHERINGS), size=count)]
    earliest, latest, hours = settings[:, :3].astype(np.int64).T
    first_hour = 24 * rng.integers(7, size=count) + rng.integers(earliest, latest, endpoint=True)
    share = settings[:, 3] * rng.lognormal(0.0, 0.5, count)
    return Gatherings(rng.integers(towers, size=count), first_hour, hours, share)


def strikes(tower_xy: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Return what the strikes of a week leave of each place's attraction, shape (towers, 168)."""
    left = np.ones((len(tower_xy), WEEK_HOURS))
    for _ in range(rng.integers(*STRIKES_PER_WEEK, endpoint=True)):
        middle = tower_xy[rng.integers(len(tower_xy))]
        near = np.hypot(*(tower_xy - middle).T) < STRIKE_REACH
        day = int(rng.integers(5))
        left[near, 24 * day + 5 : 24 * day + 22] *= STRIKE_LEFT
    return left
