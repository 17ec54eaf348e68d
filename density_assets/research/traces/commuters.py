"""A generated city of commuters on a grid, for studies and tests: regular trips to work, free ones besides.

A trip leaves a point in every region of interest (ROI) on the straight line from its start to its end, all in one
hour, as a phone or a cab seen by GPS would. People differ in what the attack is said to feed on (Pyrgelis et al.,
§3.4): how much they move, how regularly, and how far from the crowd.
"""

from dataclasses import dataclass

import numpy as np

from density_assets.calendar import HOURS
from density_assets.research.traces.matrix import Traces, binary
from density_assets.series import Floats, Ints

WORKDAYS = 5
STEPS = np.linspace(0.0, 1.0, 12)  # points looked at along a trip; ROIs met twice count once
FREE_TRIPS = 5.0  # median of the free trips of a week
SPREAD = 1.0  # of the logarithm of free trips between people
DAY_CHANCES = np.array([0.8, 0.8, 0.8, 1.0, 1.4, 1.6, 1.2])
HOUR_CHANCES = np.array([1, 0.6, 0.4, 0.2, 0.2, 0.3, 1, 2, 3, 3, 3, 4, 5, 5, 4, 4, 5, 6, 7, 7, 6, 5, 3, 2.0])


@dataclass(frozen=True)
class _People:
    """home, work: ROI. leaves, returns: hour of the day. regularity: chance of a commute. free: trips per week."""

    home: Ints
    work: Ints
    leaves: Ints
    returns: Ints
    regularity: Floats
    free: Floats


def commuters(
    users: int,
    weeks: int,
    seed: int,
    rows: int = 10,
    columns: int = 10,
    *,
    free_trips: float = FREE_TRIPS,
    spread: float = SPREAD,
) -> Traces:
    """Traces of invented people over whole weeks; all of it follows from the seed.

    free_trips, spread: median of a week's, and deviation of its logarithm between people; 250 and 0.25 make them as
    busy as the cabs of San Francisco, which are seen in two hours of three.
    """
    rng = np.random.default_rng(seed)
    y, x = np.divmod(np.arange(rows * columns), columns)
    positions = np.stack([x + 0.5, y + 0.5], axis=1).astype(np.float64)
    people = _people(users, _popularity(positions, rng), (free_trips, spread), rng)
    trips = [_commutes(people, weeks, rng), _free_trips(people, weeks, _popularity(positions, rng), rng)]
    user, start, end, hour = (np.concatenate(part) for part in zip(*trips, strict=True))
    return _seen(users, user, start, end, hour, weeks * HOURS, positions, (rows, columns))


def _popularity(positions: Floats, rng: np.random.Generator) -> Floats:
    """Chances of ROIs: crowded around a centre, uneven everywhere."""
    away = np.linalg.norm(positions - 0.6 * positions.max(axis=0), axis=1)
    weight = np.exp(-away / 2.5) * rng.lognormal(0.0, 0.5, len(positions))
    return np.asarray(weight / weight.sum())


def _people(users: int, work_chances: Floats, free: tuple[float, float], rng: np.random.Generator) -> _People:
    home_chances = np.sqrt(work_chances)
    return _People(
        home=rng.choice(len(work_chances), users, p=home_chances / home_chances.sum()),
        work=rng.choice(len(work_chances), users, p=work_chances),
        leaves=np.clip(np.rint(rng.normal(8, 1.2, users)), 4, 12).astype(np.int64),
        returns=np.clip(np.rint(rng.normal(18, 1.6, users)), 13, 23).astype(np.int64),
        regularity=rng.beta(4, 1.5, users),
        free=rng.lognormal(np.log(free[0]), free[1], users),
    )


def _commutes(people: _People, weeks: int, rng: np.random.Generator) -> tuple[Ints, Ints, Ints, Ints]:
    """To work and back, on the workdays a person goes."""
    users = len(people.home)
    goes = rng.random((users, weeks, WORKDAYS)) < people.regularity[:, None, None]
    user, week, day = np.nonzero(goes)
    midnight = week * HOURS + day * 24
    late = rng.integers(-1, 2, len(user)) * (rng.random(len(user)) < 0.2)
    there = user, people.home[user], people.work[user], midnight + people.leaves[user] + late
    back = user, people.work[user], people.home[user], midnight + people.returns[user]
    return tuple(np.concatenate(both) for both in zip(there, back, strict=True))  # type: ignore[return-value]  # four


def _free_trips(
    people: _People, weeks: int, chances: Floats, rng: np.random.Generator
) -> tuple[Ints, Ints, Ints, Ints]:
    """From home to somewhere, at any hour of the week."""
    user = np.repeat(np.arange(len(people.home)), rng.poisson(people.free * weeks))
    size = len(user)
    week_chances = np.outer(DAY_CHANCES, HOUR_CHANCES).ravel()
    hour = rng.choice(HOURS, size, p=week_chances / week_chances.sum()) + HOURS * rng.integers(0, weeks, size)
    return user, people.home[user], rng.choice(len(chances), size, p=chances), hour


def _seen(
    users: int,
    user: Ints,
    start: Ints,
    end: Ints,
    hour: Ints,
    hours: int,
    positions: Floats,
    grid: tuple[int, int],
) -> Traces:
    path = positions[start][:, None] + STEPS[:, None] * (positions[end] - positions[start])[:, None]
    cell = path.astype(np.int64)
    roi = cell[..., 1] * grid[1] + cell[..., 0]
    column = roi * hours + hour[:, None]
    matrix = binary(np.repeat(user, len(STEPS)), column.ravel(), (users, len(positions) * hours))
    return Traces(matrix, np.arange(users), hours, positions, grid)
