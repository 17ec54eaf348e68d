"""What is known of a city before a week is estimated: its measurement, its visits, and what earlier weeks left.

What an estimator is given of a week.

How many visits a week had, from its own noisy number and from two more that say it with less noise in a small city.

- Visits per weighted visit change slowly, by DRIFT a week, so the weeks before and this week's matrix say how many
  there were; unless the week's own number is far from that, because people are seen otherwise now.
- Totals of towers leave out what the weights of the few busiest people take, a few percent.

All are combined by precision. In a large city the week's own number is the best one by far.

How far a week may be from what the past says, beyond the error of the past itself.

Two things move a week. People are counted anew, which scatters every tower by itself, at least by half of Poisson's
variance (weights make it less than Poisson's, people who are seen many times more). And places change, as deviations
do: a part theta of their variance. Both are chosen by likelihood, for hours' components from the most to the least
varying in bands, because slow changes are larger than fast ones. What earlier weeks said is kept as a table of
log-likelihoods.

What the weeks so far say of a usual week. Its size does not grow with the number of weeks.

Every week enters as its measurement, divided by the city-wide factors of that week and without what was the week's own,
weighted by its precision; weights fade from week to week, so that a city may change. A tower that has become another
one forgets its past.
"""

from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from density_assets.series import Floats


@dataclass(frozen=True)
class Measured:
    """What the doors drew of one week: noisy numbers with the standard deviations of their noise.

    series: noisy weighted visits, towers x 168.
    visits: noisy number of visits.
    towers: noisy visits per tower, each user's vector scaled to at most towers_norm; None if not measured.
    """

    series: Floats
    sigma: float
    visits: float
    visits_sigma: float
    towers: Floats | None = None
    towers_sigma: float = 0.0
    towers_norm: float = 20.0


DRIFT = 0.01  # of visits per weighted visit, from week to week
MISSING = 16.0  # visits that totals of towers leave out, relative, times the squared norm a user may have: 0.04 at 20
UNSURE = 2.5  # standard error of that, relative to it: cities have had 0.02 to 0.05 (`docs/weeks.md`)
ANOTHER = 4.0  # standard errors between a week's number and what the past expects: the past then says nothing of it
CLEAR = 5.0  # standard errors that both must rise above zero: else their ratio says nothing


class Scale(NamedTuple):
    """Visits per weighted visit, and the precision it is known with: zero before the first week."""

    value: float
    precision: float

    def joined(self, other: "Scale") -> "Scale":
        """What two sides of a week say of it together."""
        precision = self.precision + other.precision
        if precision == 0.0:
            return self
        return Scale((self.value * self.precision + other.value * other.precision) / precision, precision)


class Visits(NamedTuple):
    """A number of visits, or of weighted ones, and the variance of its error."""

    value: float
    variance: float

    @property
    def clear(self) -> bool:
        """Whether it rises above its noise."""
        return bool(self.value > CLEAR * self.variance**0.5)

    def together(self, other: "Visits") -> "Visits":
        """What both say, by precision."""
        trust = other.variance / (self.variance + other.variance)
        return Visits(other.value + trust * (self.value - other.value), trust * self.variance)


def visits_by_towers(totals: Visits, norm: float) -> Visits:
    """The number of visits, from the sum of towers' totals. norm: the largest that a user's vector may have."""
    missing = MISSING / norm**2
    error = UNSURE * missing * totals.value
    return Visits((1 + missing) * totals.value, (1 + missing) ** 2 * totals.variance + error**2)


def visits_of_week(past: Scale, measured: Visits, weighted: Visits) -> tuple[Visits, Scale]:
    """The number of visits of a week, and what is known of the scale after it.

    weighted: the sum of the noisy matrix.
    """
    if not (measured.clear and weighted.clear):
        return measured, past
    scale = measured.value / weighted.value
    own = weighted.value**2 / (measured.variance + scale**2 * weighted.variance)
    if past.precision == 0.0:
        return measured, Scale(scale, own)
    spread = 1 / past.precision + (DRIFT * past.value) ** 2
    expected = past.value * weighted.value
    variance = weighted.value**2 * spread + past.value**2 * weighted.variance
    if abs(measured.value - expected) > ANOTHER * (variance + measured.variance) ** 0.5:
        return measured, Scale(scale, own)
    trust = variance / (variance + measured.variance)
    gain = own / (own + 1 / spread)
    return (
        Visits(expected + trust * (measured.value - expected), trust * measured.variance),
        Scale(past.value + gain * (scale - past.value), own + 1 / spread),
    )


BANDS = (1, 3, 8, 20, 60)  # ranks of components of hours at which a new band begins
SCATTER = np.array([0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0])  # times Poisson's variance
CHANGE = np.array([0.0, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3])  # of the variance of deviations


def no_evidence() -> Floats:
    """Before the first week."""
    return np.zeros((len(BANDS) + 1, len(SCATTER), len(CHANGE)))


def normal_log_likelihood(squares: Floats, variance: Floats) -> Floats:
    """Of zero-mean normal values with these squares, but for a constant."""
    return np.asarray(-0.5 * (np.log(variance) + squares / variance))


def bands(values: Floats) -> NDArray[np.int64]:
    """The band of each component of hours, by the rank of its variance."""
    rank = np.argsort(np.argsort(-values))
    return np.asarray(np.searchsorted(BANDS, rank, side="right"))


def evidence(innovation: Floats, known: Floats, poisson: Floats, deviation: Floats, values: Floats) -> Floats:
    """Log-likelihood of a week's innovations for every band, scatter and change.

    innovation: along towers' and hours' components. known: its variance by noise and by the error of the past.
    poisson: variance of scatter of each component of towers. deviation: variance of deviations.
    """
    squares, band, table = innovation**2, bands(values), no_evidence()
    for number, scatter, change in np.ndindex(table.shape):
        of_band = band == number
        variance = known[:, of_band] + SCATTER[scatter] * poisson[:, None] + CHANGE[change] * deviation[:, of_band]
        table[number, scatter, change] = normal_log_likelihood(squares[:, of_band], variance).sum()
    return table


def likeliest(table: Floats, poisson: Floats, deviation: Floats, values: Floats) -> Floats:
    """The variance of a week's own change that a table of evidence finds most likely."""
    best = table.reshape(len(table), -1).argmax(axis=1)
    scatter, change = np.unravel_index(best, table.shape[1:])
    band = bands(values)
    return np.asarray(SCATTER[scatter][band] * poisson[:, None] + CHANGE[change][band] * deviation)


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
