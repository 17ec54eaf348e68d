"""How far off the weeks of a city will be, before anything is spent: by simulation, settings and public geography.

What decides the error is the noise of a tower in an hour, measured in visits of the mean tower and hour. The embedded
city was released under several promises (`density study weeks`), which gives the error at some noises; between them it
is interpolated. Nothing here looks at records.
"""

import numpy as np

from density_assets.calendar import HOURS
from density_assets.privacy.events import Gaussian
from density_assets.privacy.sensitivity import WEIGHT_UNIT
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
LEAST, MOST = min(MRE), max(MRE)


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
    taken to grow as noise does, to the 1 of an empty map at most.
    """
    tried = np.log(list(MRE))
    at = np.log(np.clip(noise, LEAST, MOST))
    found = (float(np.exp(np.interp(at, tried, np.log(column)))) for column in zip(*MRE.values(), strict=True))
    return {week: min(error * max(noise / MOST, 1.0), 1.0) for week, error in zip(WEEKS, found, strict=True)}
