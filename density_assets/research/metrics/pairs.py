"""What every comparison starts from: an original and an estimate of it, aligned; and their maps as shares.

Here and in the other modules of this folder `true` is the original (before truncation) and `estimate` what a scheme
or a defence made of it, both places x hours unless said otherwise. The results are computed from personal data: they
are confidential, never part of a release.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

HOURS_OF_DAY = 24

Floats = NDArray[np.float64]


def paired(true: NDArray[Any], estimate: NDArray[Any]) -> tuple[Floats, Floats]:
    """Both in double precision; refused unless they have one shape (numpy would broadcast) and finite values."""
    true, estimate = np.asarray(true, np.float64), np.asarray(estimate, np.float64)
    if true.shape != estimate.shape or true.size == 0:
        raise ValueError(f"original and estimate must have one shape and a value, got {true.shape}, {estimate.shape}")
    for name, values in (("original", true), ("estimate", estimate)):
        if not np.isfinite(values).all():
            raise ValueError(f"the {name} must be finite, got {np.sum(~np.isfinite(values))} values that are not")
    return true, estimate


def shares(counts: Floats) -> Floats:
    """Each column as shares of its sum, which then is 1; a column without mass stays 0."""
    if counts.min() < 0:
        raise ValueError(f"a map must have no negative count, got {counts.min():g}: clip it first")
    mass = counts.sum(axis=0)
    normalised: Floats = np.divide(counts, mass, out=np.zeros_like(counts), where=mass > 0)
    return normalised


def by_hour_of_day(values: Floats) -> Floats:
    """The mean of each hour of the day over the days of a week in which it is defined; nan if it never is."""
    return np.array([mean_where_defined(values[hour::HOURS_OF_DAY]) for hour in range(HOURS_OF_DAY)])


def mean_where_defined(values: Floats) -> float:
    """The mean of the values that are not nan; nan if none is."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else float("nan")
