"""When people are somewhere and when places are alive: profiles over the 168 hours of a week.

A role (being at home, at work, out) says when a person is likely to do it; a neighbourhood kind says when a
place attracts people. The product of the two, normalised, is the chance of each hour. Profiles are relative:
only their shape matters.
"""

import numpy as np
from numpy.typing import NDArray

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
