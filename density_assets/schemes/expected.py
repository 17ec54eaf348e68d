"""How far off the weeks of a city will be, before anything is spent: by simulation, settings and public geography.

What decides the error is the noise of a tower in an hour, measured in visits of the mean tower and hour. The embedded
city was released under several promises (`density study weeks`), which gives the error at some noises; between them it
is interpolated. Nothing here looks at records.
"""

import numpy as np

from density_assets.calendar import HOURS
from density_assets.privacy.events import Gaussian
from density_assets.privacy.sensitivity import WEIGHT_UNIT
from density_assets.quality.released import Worth
from density_assets.schemes import learning_scheme
from density_assets.schemes.scheme import SERIES
from density_assets.settings import Settings

VISITS = 13.6  # a week of a person: of the embedded city
WEEKS = (1, 2, 4, 8, 12)  # of a series of releases
MRE = {  # by the noise of a tower and hour, in the mean visits of one: in these weeks, one draw each
    0.154: (0.0744, 0.0723, 0.0699, 0.0671, 0.0666),
    0.471: (0.1091, 0.0970, 0.0880, 0.0801, 0.0790),
    0.925: (0.1573, 0.1327, 0.1156, 0.1038, 0.1003),
    2.817: (0.2902, 0.2415, 0.2144, 0.1880, 0.1741),
}
MOST = max(MRE)
# First weeks of cities of the same generator (seed 17, 60 and 1,300 towers, 20,000 to 2,000,000 people, epsilon 0.1 to
# 1): the share of visits that a release has too many or too few, by noise, and that of a flat map.
WRONG = {
    0.03: 0.025, 0.09: 0.037, 0.14: 0.054, 0.24: 0.063, 0.43: 0.093, 0.87: 0.142, 1.2: 0.174, 2.3: 0.253, 6.0: 0.36,
    9.4: 0.37, 19.0: 0.46, 26.0: 0.47, 47.0: 0.62, 130.0: 0.78,
}  # fmt: skip
WRONG_IF_FLAT = 0.67


def noise_of(settings: Settings, towers: int, people: int) -> float | None:
    """Noise of a tower and hour in the mean visits of one; none of a scheme that does not learn from weeks."""
    scheme = learning_scheme(settings.scheme.name)
    if scheme is None:
        return None
    (event,) = scheme.plan(settings)[SERIES]
    assert isinstance(event, Gaussian)  # of all schemes that learn
    return event.sigma / WEIGHT_UNIT * towers * HOURS / (VISITS * people)


def expected_errors(noise: float) -> dict[int, float]:
    """Mean relative error of a cell and hour in the first weeks of a series, by week.

    Below the smallest noise that was tried the error is said as it was there, which is more. Beyond the largest it is
    taken to grow as the root of noise does, as first weeks of small cities do, to the 1 of an empty map at most.
    """
    found = (_between(dict(zip(MRE, column, strict=True)), noise) for column in zip(*MRE.values(), strict=True))
    return {week: min(error * max(noise / MOST, 1.0) ** 0.5, 1.0) for week, error in zip(WEEKS, found, strict=True)}


def expected_worth(settings: Settings, towers: int | None) -> Worth | None:
    """What the first week will be worth beside a flat and an empty map; none where the city's size is not known.

    towers: of the public geography.
    """
    noise = foreseen_noise(settings, towers)
    return None if noise is None else Worth(_between(WRONG, noise), WRONG_IF_FLAT)


def foreseen_noise(settings: Settings, towers: int | None) -> float | None:
    """The noise of a city's towers; none where it or the number of people is not known."""
    people = settings.city.people
    return noise_of(settings, towers, people) if towers and people else None


def _between(tried: dict[float, float], at: float) -> float:
    """Interpolated between what was tried, on logarithms; beyond, the last that was."""
    return float(np.exp(np.interp(np.log(at), np.log(list(tried)), np.log(list(tried.values())))))
