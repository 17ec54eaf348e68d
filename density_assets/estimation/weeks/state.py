"""What the weeks so far say of a usual week. Its size does not grow with the number of weeks.

Every week enters as its measurement, divided by the city-wide factors of that week and without what was the week's own,
weighted by its precision; weights fade from week to week, so that a city may change. A tower that has become another
one forgets its past.
"""

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from density_assets.estimation.weeks.drift import no_evidence
from density_assets.estimation.weeks.visits import Scale

Floats = NDArray[np.float64]

FADING = 0.97  # what a week's weight is multiplied by when another one comes
MOST_FACTOR = 5.0  # hours that are emptier or fuller than by this tell nothing of a usual week


@dataclass(frozen=True)
class Pooled:
    """A mean of weeks, whose noise at tower i and hour t has the standard deviation sigma · rows_i · columns_t."""

    mean: Floats
    rows: Floats
    columns: Floats
    sigma: float

    @property
    def unit(self) -> Floats:
        """By what to divide the mean for noise that is the same everywhere."""
        return np.outer(self.rows, self.columns)


@dataclass(frozen=True)
class Week:
    """What of a week goes into the state.

    series: its measurement without what is the week's own; sigma: its noise.
    factors: city-wide, of each hour. use: from 0 to 1, how far each tower and hour counts.
    """

    series: Floats
    sigma: float
    factors: Floats
    use: Floats


@dataclass(frozen=True)
class State:
    """Sums over weeks, and what was learned from them.

    total, weight, noise: Σ w·y, Σ w and Σ w²·variance(y) per tower and hour, y a week's weighted visits.
    hours: covariance of hours' deviations, from which the next week learns on.
    evidence: log-likelihoods of how far weeks drift.
    odd_weeks: for how many weeks in a row each day was not what the past says.
    measured, filtered, towers_weight, towers_noise: the same sums for totals of towers, measured and as estimated.
    scale: visits per weighted visit, and the precision it is known with.
    weeks: how many there were.
    """

    total: Floats
    weight: Floats
    noise: Floats
    hours: Floats
    evidence: Floats
    odd_weeks: Floats
    measured: Floats
    filtered: Floats
    towers_weight: Floats
    towers_noise: Floats
    scale: Floats
    weeks: int = 0

    @classmethod
    def empty(cls, towers: int, hours: int) -> "State":
        """Before the first week."""
        nothing, none = np.zeros((towers, hours)), np.zeros(towers)
        return cls(
            *(nothing,) * 3,
            hours=np.eye(hours),
            evidence=no_evidence(),
            odd_weeks=np.zeros(-(-hours // 24)),
            measured=none,
            filtered=none,
            towers_weight=none,
            towers_noise=none,
            scale=np.zeros(2),
        )

    @property
    def tells(self) -> bool:
        """Whether there is a past from which anything can be learned: weeks that rise above the noise."""
        return self.weeks > 0 and float(self.total.sum()) > 0.0

    def with_week(self, week: Week) -> "State":
        """The sums with one more week."""
        factors = np.clip(week.factors, 1 / MOST_FACTOR, MOST_FACTOR)
        weight = week.use * factors**2 / week.sigma**2
        return replace(
            self,
            total=self.total + weight * week.series / factors,
            weight=self.weight + weight,
            noise=self.noise + weight**2 * week.sigma**2 / factors**2,
            weeks=self.weeks + 1,
        )

    def faded(self, memory: Floats) -> "State":
        """The past as the next week sees it. memory: from 0 to 1, what of it each tower and hour keeps."""
        left, towers = FADING * memory, FADING * memory.min(axis=1)
        return replace(
            self,
            total=left * self.total,
            weight=left * self.weight,
            noise=left**2 * self.noise,
            evidence=FADING * self.evidence,
            measured=towers * self.measured,
            filtered=towers * self.filtered,
            towers_weight=towers * self.towers_weight,
            towers_noise=towers**2 * self.towers_noise,
        )

    def joined(self, other: "State") -> "State":
        """The sums over the weeks of both, which share none; how hours vary is known from the longer one."""
        longer = self if self.weeks >= other.weeks else other
        return replace(
            longer,
            total=self.total + other.total,
            weight=self.weight + other.weight,
            noise=self.noise + other.noise,
            evidence=self.evidence + other.evidence,
            measured=self.measured + other.measured,
            filtered=self.filtered + other.filtered,
            towers_weight=self.towers_weight + other.towers_weight,
            towers_noise=self.towers_noise + other.towers_noise,
            scale=np.array(Scale(*self.scale).joined(Scale(*other.scale))),
            weeks=self.weeks + other.weeks,
        )

    def pooled(self) -> Pooled:
        """The mean of the weeks; its noise, which is nearly so, is taken as a product of one of towers and of hours."""
        spread = np.log(self.noise / self.weight**2) / 2
        rows, columns = spread.mean(axis=1) - spread.mean(), spread.mean(axis=0) - spread.mean()
        return Pooled(self.total / self.weight, np.exp(rows), np.exp(columns), float(np.exp(spread.mean())))

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """Everything by name, to be stored."""
        return {field.name: np.asarray(getattr(self, field.name), np.float64) for field in fields(self)}

    @classmethod
    def of(cls, arrays: dict[str, NDArray[np.float64]]) -> "State":
        """What `arrays` gave."""
        return cls(**{**arrays, "weeks": int(arrays["weeks"])})  # type: ignore[arg-type]  # names are those of the fields
