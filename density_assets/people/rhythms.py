"""What makes places and hours of an invented city differ: smooth fields, rhythms, and events.

Smooth random fields over a plane: what makes neighbouring places of an invented city alike.

A field is a sum of plane waves with random directions, so it costs one matrix product, needs no covariance
matrix and is defined at every point (random Fourier features; Rahimi & Recht 2007, Alg. 1).

What happens once, in one place: concerts, matches, fairs, and strikes that empty a place for a day.

When people are somewhere and when places are alive: profiles over the 168 hours of a week.

A role (being at home, at work, out) says when a person is likely to do it; a neighbourhood kind says when a
place attracts people. The product of the two, normalised, is the chance of each hour. Profiles are relative:
only their shape matters.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

WEEK_HOURS = 168
WAVES = 600


def spatial_fields(xy: NDArray[np.float64], length: float, count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw `count` independent fields of variance 1 at the points; correlation exp(-d²/2 length²)."""
    cosine, _ = _plane_waves(xy, length, count * WAVES, rng)
    return np.asarray(np.sqrt(2.0 / WAVES) * cosine.reshape(len(xy), count, WAVES).sum(axis=2))


def weekly_field(xy: NDArray[np.float64], length: float, hours: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw a field of variance 1 over points and hours of the week, shape (points, 168).

    length, hours: how far, in metres and in hours, a deviation reaches.
    """
    cosine, sine = _plane_waves(xy, length, WAVES, rng)
    # Whole cycles per week, so that Sunday night meets Monday morning.
    cycles = np.rint(rng.normal(0.0, WEEK_HOURS / (2.0 * np.pi * hours), WAVES))
    turn = 2.0 * np.pi / WEEK_HOURS * np.outer(cycles, np.arange(WEEK_HOURS))
    return np.asarray(np.sqrt(2.0 / WAVES) * (cosine @ np.cos(turn) - sine @ np.sin(turn)))


def _plane_waves(
    xy: NDArray[np.float64], length: float, count: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    frequency = rng.normal(0.0, 1.0 / length, (2, count))
    angle = (xy - xy.mean(axis=0)) @ frequency + rng.uniform(0.0, 2.0 * np.pi, count)
    return np.cos(angle), np.sin(angle)


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


DAY_HOURS = 24

Profile = NDArray[np.float64]


def day(base: float, *peaks: tuple[float, float, float]) -> Profile:
    """Return 24 hourly values: the base plus bells of a given hour, width in hours and height."""
    clock = np.arange(DAY_HOURS)
    profile = np.full(DAY_HOURS, base)
    for hour, width, height in peaks:
        away = (clock - hour + DAY_HOURS / 2) % DAY_HOURS - DAY_HOURS / 2
        profile += height * np.exp(-0.5 * (away / width) ** 2)
    return profile


def week(weekday: Profile, saturday: Profile, sunday: Profile | None = None) -> Profile:
    """Return a week of mean 1 from Monday 00:00: five weekdays, then the weekend."""
    hours = np.concatenate([weekday] * 5 + [saturday, saturday if sunday is None else sunday])
    return np.asarray(hours / hours.mean())


def on_days(open_days: NDArray[np.bool_], opened: Profile, closed: Profile) -> Profile:
    """Return a week of mean 1, `opened` on the marked days, Monday first, and `closed` on the others."""
    hours = np.concatenate([opened if is_open else closed for is_open in open_days])
    return np.asarray(hours / hours.mean())


# How readily a phone is used at all: everything else multiplies this, so the city sleeps at 4 a.m.
WAKING = week(
    day(0.34, (8.5, 1.6, 0.25), (13, 4.5, 0.6), (19, 2.8, 0.25), (4.5, 1.8, -0.21)),
    day(0.36, (13.5, 4.0, 0.55), (20, 3.2, 0.2), (0, 2.2, 0.1), (4.2, 1.8, -0.17)),
    day(0.34, (13.5, 4.2, 0.5), (19.5, 3.0, 0.15), (4.2, 1.9, -0.17)),
)

ROLE_RHYTHMS: dict[str, Profile] = {
    "home": WAKING
    * week(
        day(1.1, (7, 1.4, 0.8), (21, 2.4, 1.3), (13, 2.5, -0.6)),
        day(1.0, (10, 2.0, 0.6), (20, 2.5, 0.5)),
        day(1.0, (11, 2.4, 0.7), (19.5, 2.6, 0.9)),
    ),
    "work": WAKING
    * week(day(0.06, (10, 1.8, 1.2), (15, 2.2, 1.3)), day(0.05, (11, 2.5, 0.2)), day(0.04, (12, 3.0, 0.08))),
    "errand": WAKING
    * week(
        day(0.06, (11, 1.6, 0.7), (18, 1.5, 1.0)),
        day(0.06, (11.5, 2.0, 1.6), (16.5, 1.8, 1.2)),
        day(0.06, (11, 1.5, 1.1)),
    ),
    "outing": WAKING
    * week(
        day(0.12, (12.8, 0.9, 0.5), (20, 2.0, 1.2)),
        day(0.4, (15.5, 2.2, 1.1), (22, 2.6, 1.9)),
        day(0.5, (15, 2.4, 1.6), (0.5, 2.0, 1.0)),
    ),
    "transit": WAKING
    * week(
        day(0.08, (8, 0.9, 2.2), (17.8, 1.2, 1.9)),
        day(0.12, (11, 3.0, 0.5), (19, 3.0, 0.6)),
        day(0.12, (18.5, 2.2, 1.3)),
    ),
    "rounds": WAKING
    * week(day(0.12, (9.5, 1.3, 1.5), (14, 1.5, 0.9), (19.8, 1.0, 1.1)), day(0.15, (11, 2, 0.9), (20, 1.2, 1.5))),
    "sights": WAKING
    * week(
        day(0.2, (11, 1.8, 1.0), (15.5, 2.2, 1.3), (21.5, 1.8, 0.9)),
        day(0.25, (14, 3.0, 1.4), (22, 1.8, 1.1)),
    ),
    "night shift": week(
        day(0.10, (22.5, 2.0, 1.0), (1.8, 1.3, 0.6), (6.4, 0.9, 0.8)),
        day(0.1, (22.5, 2.0, 0.7), (6.2, 1.2, 0.6)),
    ),
}

KIND_RHYTHMS: dict[str, Profile] = {
    "housing": week(day(0.8, (7.5, 1.2, 0.5), (20, 2.2, 0.7)), day(1.0, (11, 2.5, 0.3)), day(1.0, (18.5, 2.5, 0.4))),
    "offices": week(day(0.3, (9.5, 1.2, 1.1), (12.5, 1.0, 0.5), (15.5, 2.0, 1.2)), day(0.2, (13, 3.0, 0.15))),
    "workshops": week(day(0.4, (6.5, 1.2, 1.4), (11, 2.5, 0.7), (15.5, 1.3, 0.8)), day(0.35, (8, 2.0, 0.6)), day(0.25)),
    "shops": week(day(0.3, (12.3, 1.2, 0.6), (17.5, 1.8, 1.2)), day(0.3, (15.5, 2.6, 2.2)), day(0.25, (12, 2.0, 0.4))),
    "nightlife": week(
        day(0.4, (20, 2.0, 0.9), (0, 1.8, 0.5)),
        day(0.6, (22.5, 2.4, 2.0), (1.5, 1.7, 1.8)),
        day(0.5, (1.5, 2.0, 2.2), (17, 2.5, 0.5)),
    ),
    "station": week(
        day(0.25, (7.8, 0.9, 2.2), (17.6, 1.1, 2.0)), day(0.4, (10.5, 1.6, 0.8)), day(0.35, (19.5, 1.8, 1.8))
    ),
    "campus": week(day(0.25, (9.8, 1.2, 1.2), (13, 0.9, 0.8), (16, 1.5, 0.9)), day(0.2, (14, 2.5, 0.2))),
    "landmark": week(day(0.25, (11, 1.6, 1.0), (16, 2.0, 1.3)), day(0.3, (14.5, 2.8, 1.8))),
    "park": week(day(0.35, (13, 1.2, 0.5), (17.5, 1.6, 0.7)), day(0.4, (15, 2.2, 1.4)), day(0.4, (15.5, 2.2, 2.2))),
    "hospital": week(day(0.8, (9, 1.5, 0.9), (14.5, 1.5, 0.6), (20.8, 0.8, 0.5)), day(0.8, (14.5, 2.0, 0.6))),
}

MARKET_DAY = day(0.3, (8.0, 1.2, 1.2), (11, 1.5, 2.6))
NO_MARKET_DAY = day(0.45, (18, 2.0, 0.4))
