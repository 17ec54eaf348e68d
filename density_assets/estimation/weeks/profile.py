"""What the past expects of a week, what the week says anew, and where the past does not count.

The usual week: what the pooled past says of every tower and hour, filtered as a single week is.

City-wide factors of hours: by how much every tower is fuller or emptier than usual, in each hour of this week.

A regression of the week on its profile gives a raw factor of each hour; a Gaussian process over hours and days draws
it to one. Its variances are chosen by likelihood, and where nothing has changed they are zero. The profile's own error
of rhythm is part of the process: what the week says of its rhythm corrects it.

Days and towers that the past does not explain: they are taken from the week alone.

A holiday is lived at other places than usual, a tower opens or closes. There the past misleads, and what the week
itself says is better. A tower that has become another one forgets its past at once; a day only when it was odd for some
weeks in a row, because holidays end.

What is new in a week, told from noise: Wiener's filter of measurement minus expectation.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky

from density_assets.estimation.kronecker import SMALLEST, BlockDiagonal, Filtered, learn, modes, not_negative
from density_assets.estimation.weeks.errors import Separable
from density_assets.estimation.weeks.state import Pooled, evidence, likeliest
from density_assets.series import Floats


@dataclass(frozen=True)
class Profile:
    """A usual week. pooled: the past; whitened: what the filter makes of it, in units of its noise."""

    pooled: Pooled
    whitened: Filtered

    @classmethod
    def of(cls, pooled: Pooled, size: Floats, hours: Floats, near: BlockDiagonal, rounds: int = 0) -> "Profile":
        """The profile of towers of these sizes.

        hours: covariance of hours, with which learning starts. rounds: of learning; 0 takes `hours` as it is.
        """
        relative, columns = size / pooled.rows, np.outer(pooled.columns, pooled.columns)
        along = modes(relative, near)
        whitened = pooled.mean / pooled.unit
        filtered = learn(whitened, pooled.sigma, relative, along, hours / columns, rounds, pooled.columns)
        return cls(pooled, filtered)

    @cached_property
    def mean(self) -> Floats:
        """Weighted visits per tower and hour, not below zero."""
        return not_negative(self.whitened.mean * self.pooled.unit)

    @cached_property
    def variance(self) -> Floats:
        """Of the error of each tower and hour, without the error that all towers share."""
        spread = self.whitened.towers**2 @ self.whitened.variance @ (self.whitened.hours**2).T
        return np.asarray(spread * self.pooled.unit**2)

    @property
    def hours(self) -> Floats:
        """The covariance of hours that was learned."""
        return self.whitened.covariance * np.outer(self.pooled.columns, self.pooled.columns)

    @property
    def rhythm_error(self) -> Floats:
        """Covariance of the error of the city's rhythm, relative to it: towers share it."""
        rhythm = self.mean.mean(axis=0)
        rhythm = np.maximum(rhythm, SMALLEST * rhythm.mean())
        along, relative = self.whitened.hours, self.pooled.columns / rhythm
        return np.asarray(along @ self.whitened.rhythm_error @ along.T * np.outer(relative, relative))


NEAR_HOURS = 3.0  # factors of hours fade over so many hours
SPREADS = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3)  # standard deviations that are tried, of hours and of days
CLEARER = 1.0  # of log-likelihood: by so much more variance must explain better
CLIP = 4.0  # standard deviations of noise: towers beyond do not speak for the city
STEPS = 6
MOST_SHARE = 4.0  # times its size: what one tower may say of one hour
LEAST_SIGNAL = 1e-6  # of the mean hour's square
UNTOLD = 1e6  # variance of a factor of which nothing can be said
LEAST_POWER = 0.5  # of the profile's square: what is left of it once its own noise is taken off


@dataclass(frozen=True)
class Factors:
    """The factor of each hour, and the covariance of its error."""

    value: Floats
    covariance: Floats


def hour_factors(noisy: Floats, sigma: float, profile: Profile) -> Factors:
    """The factors of a week, from its measurement."""
    raw, variance = _regression(noisy, sigma, profile)
    prior = _prior(raw - 1.0, variance, profile.rhythm_error)
    root = (cholesky(prior + np.diag(variance), lower=True), True)
    return Factors(1.0 + prior @ cho_solve(root, raw - 1.0), prior - prior @ cho_solve(root, prior))


def _regression(noisy: Floats, sigma: float, profile: Profile) -> tuple[Floats, Floats]:
    """Raw factors and their variances.

    The profile is itself noisy, which would draw a plain regression to zero: its variance is taken off its square.
    """
    mean = profile.mean
    usual = np.outer(mean.mean(axis=1) / mean.mean(), mean.mean(axis=0))
    weight = np.minimum(mean, MOST_SHARE * usual)
    power = (weight * mean).sum(axis=0)
    told = power > LEAST_SIGNAL * power.mean()  # in other hours the profile is empty, and nothing can be said of them
    power = np.where(told, power, 1.0)
    raw = np.ones(noisy.shape[1])
    for _ in range(STEPS):
        raw = raw + (weight * np.clip(noisy - mean * raw, -CLIP * sigma, CLIP * sigma)).sum(axis=0) / power
    signal = np.maximum(power - np.minimum(profile.variance, mean**2).sum(axis=0), LEAST_POWER * power)
    variance = sigma**2 * (weight**2).sum(axis=0) / signal**2
    return np.where(told, raw * power / signal, 1.0), np.where(told, variance, UNTOLD)


def _prior(deviation: Floats, variance: Floats, known: Floats) -> Floats:
    """The covariance of factors that makes what was seen most likely; a larger one must be clearly better."""
    hour = np.arange(len(deviation))
    near, same_day = np.exp(-np.abs(hour[:, None] - hour) / NEAR_HOURS), hour[:, None] // 24 == hour // 24
    best, chosen = -np.inf, known
    for of_hour, of_day in product(SPREADS, SPREADS):
        prior = known + of_hour**2 * near + of_day**2 * same_day
        root = cholesky(prior + np.diag(variance), lower=True)
        likelihood = -np.log(np.diag(root)).sum() - 0.5 * deviation @ cho_solve((root, True), deviation)
        if likelihood > best + CLEARER:
            best, chosen = likelihood, prior
    return chosen


Mask = NDArray[np.bool_]

DAY = 24
OTHER_SIZE = 0.5  # of the larger of then and now: a tower that changed by more may be another one,
CERTAIN_TOWER = 4.5  # if the change is so many standard errors
SHARED_HOURS = 12.0  # errors of the past are alike over so many hours
CERTAIN_DAY = 6.0  # standard errors of the median tower's misfit,
ODD_DAY = 0.1  # and at least so much more than noise and drift explain: below, the past still helps
MEDIAN = 0.972  # of the mean of 24 squares of standard normal numbers
MEDIAN_SPREAD = 1.2533  # standard error of a median, in those of a mean
MOST_SQUARE = 9.0  # what one hour may add to the misfit
PATIENCE = 3  # weeks in a row after which an odd day is a usual one
FORGOTTEN = 1e-3  # what is left of a past that is forgotten: not zero, so that means stay defined
TAUGHT = 0.1  # how far an odd day counts for the usual week


def odd_towers(noisy: Floats, sigma: float, expected: Floats, variance: Floats) -> Mask:
    """Towers that are much larger or smaller than expected, beyond doubt, on the median day.

    Size is what a tower has of the city's rhythm on a day. The median, because an event makes no other tower.
    """
    rhythm = expected.mean(axis=0)
    power = np.maximum(_by_day(rhythm**2), 1e-9)
    now, then = (np.median(_by_day(visits * rhythm) / power, axis=-1) for visits in (noisy, expected))
    errors = (sigma**2 * power + SHARED_HOURS * _by_day(variance * rhythm**2)) / power**2
    error = MEDIAN_SPREAD * np.sqrt(errors.mean(axis=-1) / len(power))
    change = np.abs(now - then)
    return np.asarray((change > OTHER_SIZE * np.maximum(now, then)) & (change > CERTAIN_TOWER * error))


def _by_day(values: Floats) -> Floats:
    """Sums over the hours of each day."""
    return np.asarray(values.reshape(*values.shape[:-1], -1, DAY).sum(axis=-1))


def odd_days(residual: Floats, variance: Floats, towers: Mask) -> Mask:
    """Days on which the median tower is farther from what was expected than noise and drift explain.

    The median, because events at some towers do not make a day odd. towers: those that are odd, left out.
    """
    squares = np.minimum(residual**2 / variance, MOST_SQUARE)[~towers]
    if not len(squares):
        return np.zeros(residual.shape[1] // DAY, bool)
    misfit = np.median(squares.reshape(len(squares), -1, DAY).mean(axis=2), axis=0)
    error = MEDIAN_SPREAD * np.sqrt(2 / DAY / len(squares))
    return np.asarray(misfit > MEDIAN + max(CERTAIN_DAY * error, ODD_DAY))


def remembered(towers: Mask, days: Mask, odd_weeks: Floats, use: Floats) -> tuple[Floats, Floats, Floats]:
    """What of the past each tower and hour keeps, how far this week counts for it, and the days' new counts."""
    in_row = np.where(days, odd_weeks + 1, 0)
    usual = in_row >= PATIENCE
    memory, taught = np.ones_like(use), use.copy()
    taught[:, np.repeat(days & ~usual, DAY)] *= TAUGHT
    memory[:, np.repeat(usual, DAY)] = FORGOTTEN
    memory[towers], taught[towers] = FORGOTTEN, 1.0
    return memory, taught, np.where(usual, 0.0, in_row)


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
