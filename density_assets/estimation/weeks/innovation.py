"""What is new in a week, told from noise: Wiener's filter of measurement minus expectation."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from density_assets.estimation.weeks.drift import evidence, likeliest
from density_assets.estimation.weeks.errors import Separable
from density_assets.estimation.weeks.profile import Profile

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Innovation:
    """What is new.

    step: to be added to what was expected. variance: of what was expected, of each tower and hour.
    errors: of the week, once the step is added. evidence: what the week says of drift.
    """

    step: Floats
    variance: Floats
    errors: Separable
    evidence: Floats


def filter_innovation(
    residual: Floats, expected: Floats, sigma: float, profile: Profile, earlier: Floats
) -> Innovation:
    """The likely part of a residual, given the profile's own error and how far weeks drift.

    earlier: evidence of drift of the weeks before.
    """
    known, unit = profile.whitened, profile.pooled.unit
    poisson = known.towers.T**2 @ np.maximum(expected / unit**2, 0.0).mean(axis=1)
    deviation = known.scale[:, None] * known.values
    seen = known.towers.T @ (residual / unit) @ known.hours
    # The unit is one on (geometric) average, so that noise keeps its size nearly everywhere.
    table = evidence(seen, known.variance + sigma**2, poisson, deviation, known.values)
    prior = known.variance + likeliest(earlier + table, poisson, deviation, known.values)
    gain = prior / (prior + sigma**2)
    return Innovation(
        step=known.towers @ (gain * seen) @ known.hours.T * unit,
        variance=known.towers**2 @ prior @ (known.hours**2).T * unit**2,
        errors=Separable(
            known.towers, known.hours, gain * sigma**2, rows=profile.pooled.rows, columns=profile.pooled.columns
        ),
        evidence=table,
    )
