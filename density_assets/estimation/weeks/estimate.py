"""One week, estimated when it is measured, and again once weeks after it are known.

A week, estimated from its own measurement and from what earlier weeks have said. No week costs privacy twice.

    usual week (profile)  ←  the pooled past, filtered
    expected              =  usual week x city-wide factors of this week's hours
    this week             =  expected + innovation, filtered by how far weeks drift
                             + stretches in which a tower stands apart
                             days and towers that the past does not explain: the week alone
    visits                =  scaled to the number of visits, towers by the ratio of their totals

The first week is the single-week filter. All of it is post-processing of measurements that are paid for, and of public
geography. Constants come from synthetic cities (`docs/weeks.md`).

A week, estimated again once weeks after it are known: a smoother, made of two filters.

What is known of a usual week is made of sums, so the weeks after can be folded like the weeks before, the newest first,
and both sums added: the week is then estimated as if all other weeks lay before it. A side that does not know a tower
or a day as it is in this week, because it opened or closed in between or people came to live otherwise, gives way there
to the other side. All of it is post-processing, as in `estimate.py`.
"""

from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import eye_array

from density_assets.calendar import HOURS
from density_assets.estimation.kronecker import Areas, Filtered, learn, modes, nearness, not_negative, nothing
from density_assets.estimation.sizes import Ground, Totals, TowerRatio, sizes, tower_ratio
from density_assets.estimation.weeks.errors import (
    Apart,
    Errors,
    OfFactors,
    OfScatter,
    OfStretches,
    Scaled,
    Separable,
    Together,
    variance_of_sums,
)
from density_assets.estimation.weeks.profile import (
    CLIP,
    DAY,
    FORGOTTEN,
    Innovation,
    Profile,
    filter_innovation,
    hour_factors,
    odd_days,
    odd_towers,
    remembered,
)
from density_assets.estimation.weeks.state import Measured, Scale, State, Visits, Week, visits_by_towers, visits_of_week
from density_assets.estimation.weeks.stretches import changes, find_stretches
from density_assets.series import Floats

Mask = NDArray[np.bool_]

RELEARNED = 6  # rounds of learning when a week joins the past


@dataclass(frozen=True)
class WeekEstimate:
    """What is said of one week: visits per tower and hour, and their errors."""

    series: Floats
    errors: Scaled

    def variance_of_sums(self, areas: Areas, hours: Floats) -> Floats:
        """Variance of areas @ series @ hours, for areas (k x towers) and hours (168 x p)."""
        return variance_of_sums(self.errors, areas, hours)


@dataclass(frozen=True)
class Seen:
    """What a week looks like before it is scaled to visits, and what of it the past should learn.

    week: what joins the past. towers, days: those that are odd. evidence: of drift.
    """

    series: Floats
    errors: Errors
    week: Week
    towers: Mask
    days: Mask
    evidence: Floats


@dataclass(frozen=True)
class Look:
    """A week beside the usual one.

    expected: of it. change: what stands apart in stretches of hours. new: the innovation.
    week: what joins the past. towers, days: those that the past does not explain.
    """

    expected: Floats
    change: Floats
    new: Innovation
    errors: Errors
    week: Week
    towers: Mask
    days: Mask

    @classmethod
    def at(cls, measured: Measured, profile: Profile, evidence: Floats) -> "Look":
        """At a week, given the usual one and what is known of drift."""
        noisy, sigma = measured.series, measured.sigma
        factors = hour_factors(noisy, sigma, profile)
        expected = profile.mean * factors.value
        towers = odd_towers(noisy, sigma, expected, profile.variance)
        residual = np.where(towers[:, None], 0.0, noisy - expected)
        found = find_stretches(residual, expected, sigma, profile.variance)
        change, use = changes(found, noisy.shape)
        usual = np.clip(residual - change, -CLIP * sigma, CLIP * sigma)
        new = filter_innovation(usual, expected, sigma, profile, evidence)
        days = odd_days(residual, sigma**2 + new.variance, towers)
        errors = Together((new.errors, OfFactors(profile.mean, factors.covariance), OfStretches(found)))
        return cls(expected, change, new, errors, Week(noisy - change, sigma, factors.value, use), towers, days)


def estimate_week(
    state: State | None, measured: Measured, xy: Floats, ground: Ground | None = None
) -> tuple[WeekEstimate, State]:
    """The estimate of a week, and what the next week may know.

    state: what the weeks before have left; None before the first.
    xy: positions of the towers, distinct.
    ground: what is public of them, where it is known already.
    """
    _check(state, measured, xy)
    ground = ground or Ground.of(xy, nearness(xy))
    past = State.empty(*measured.series.shape) if state is None else state
    seen, past = _next(past, measured, ground) if past.tells else _first(past, measured, ground)
    past = _with_totals(past, measured, seen)
    visits, scale = visits_of_week(Scale(*past.scale), *_sums(measured))
    if measured.towers is not None:
        totals = Visits(float(measured.towers.sum()), len(measured.towers) * measured.towers_sigma**2)
        visits = visits.together(visits_by_towers(totals, measured.towers_norm))
    return _scaled(seen, past, visits, xy), replace(past, scale=np.array(scale))


def _check(state: State | None, measured: Measured, xy: Floats) -> None:
    shape = (len(xy), HOURS)
    if measured.series.shape != shape or not np.isfinite(measured.series).all() or not measured.sigma > 0:
        raise ValueError(
            f"a measurement must be a finite matrix of {shape[0]} towers and {HOURS} hours with positive noise, got "
            f"shape {measured.series.shape} and sigma={measured.sigma}"
        )
    if state is not None and state.total.shape != shape:
        raise ValueError(f"the past must be of the same {shape[0]} towers, got {len(state.total)}")


def _first(past: State, measured: Measured, ground: Ground) -> tuple[Seen, State]:
    """The single-week filter; stretches are kept from the past that follows."""
    filtered = _alone(measured, ground)
    mean = np.maximum(filtered.mean, 0.0)
    variance = filtered.towers**2 @ filtered.variance @ (filtered.hours**2).T
    found = find_stretches(measured.series - mean, mean, measured.sigma, variance)
    change, use = changes(found, mean.shape)
    week = Week(measured.series - change, measured.sigma, np.ones(mean.shape[1]), use)
    none_odd = np.zeros(len(mean), bool), np.zeros(mean.shape[1] // DAY, bool)
    seen = Seen(mean, _errors_alone(filtered, measured.sigma), week, *none_odd, past.evidence)
    learned = replace(past, hours=filtered.covariance)
    return seen, learned.faded(np.ones_like(mean)).with_week(week)


def _next(past: State, measured: Measured, ground: Ground) -> tuple[Seen, State]:
    """A week after others: first as the past knows sizes and hours, then as this week lets us know them better."""
    pooled = past.pooled()
    first = first_look(past, measured, ground)
    joined = past.with_week(first.week).pooled()
    size = sizes(joined.mean, joined.sigma, ground)
    hours = Profile.of(joined, size, past.hours, ground.near, RELEARNED).hours
    seen = _seen(measured, Look.at(measured, Profile.of(pooled, size, hours, ground.near), past.evidence), ground)
    memory, use, odd_weeks = remembered(seen.towers, seen.days, past.odd_weeks, seen.week.use)
    learned = replace(past, hours=hours, odd_weeks=odd_weeks, evidence=past.evidence + seen.evidence)
    return seen, learned.faded(memory).with_week(replace(seen.week, use=use))


def first_look(past: State, measured: Measured, ground: Ground) -> Look:
    """The week as the past alone knows sizes and hours; the past must tell something."""
    pooled = past.pooled()
    size = sizes(pooled.mean, pooled.sigma, ground)
    return Look.at(measured, Profile.of(pooled, size, past.hours, ground.near), past.evidence)


def _seen(measured: Measured, look: Look, ground: Ground) -> Seen:
    """The week, given the usual one; as it looks alone where that does not explain it."""
    series, errors = not_negative(look.expected + look.new.step + look.change), look.errors
    if look.towers.any() or look.days.any():
        alone, hours = _alone(measured, ground), np.repeat(look.days, DAY)
        series = np.where(look.towers[:, None] | hours, np.maximum(alone.mean, 0.0), series)
        errors = Apart(errors, _errors_alone(alone, measured.sigma), look.towers, hours)
    return Seen(series, errors, look.week, look.towers, look.days, look.new.evidence)


def _alone(measured: Measured, ground: Ground) -> Filtered:
    """The filter of a single week."""
    if measured.series.mean() <= 0:  # not even the city as a whole rises above the noise
        return nothing(measured.series.shape, measured.sigma, ground.near)
    totals = None if measured.towers is None else Totals(measured.towers, _errors_of_totals(measured))
    size = sizes(measured.series, measured.sigma, ground, totals)
    return learn(measured.series, measured.sigma, size, modes(size, ground.near))


def _errors_alone(filtered: Filtered, sigma: float) -> Errors:
    """Of the filter, and of Poisson's scatter around the smooth rates it sees, as far as the noise hides it."""
    scatter = np.maximum(filtered.mean, 0.0)
    smooth = Separable(filtered.towers, filtered.hours, filtered.variance_if_more(sigma), filtered.common)
    return Together((smooth, OfScatter(scatter * sigma**2 / (scatter + sigma**2))))


def _with_totals(past: State, measured: Measured, seen: Seen) -> State:
    """The past with this week's totals of towers, as shares of the city; without them if they are not clear."""
    if measured.towers is None or not Totals(measured.towers, _errors_of_totals(measured)).clear:
        return past
    city, estimated = measured.towers.sum(), max(float(seen.series.sum()), 1.0)
    weight = (city / measured.towers_sigma) ** 2
    return replace(
        past,
        measured=past.measured + weight * measured.towers / city,
        filtered=past.filtered + weight * seen.series.sum(axis=1) / estimated,
        towers_weight=past.towers_weight + weight,
        towers_noise=past.towers_noise + weight,  # weight² · variance
    )


def _errors_of_totals(measured: Measured) -> Floats:
    return np.full(len(measured.series), measured.towers_sigma)


def _sums(measured: Measured) -> tuple[Visits, Visits]:
    """The noisy numbers of visits and of weighted visits of the city."""
    weighted = Visits(float(measured.series.sum()), measured.series.size * measured.sigma**2)
    return Visits(measured.visits, measured.visits_sigma**2), weighted


def _scaled(seen: Seen, past: State, visits: Visits, xy: Floats) -> WeekEstimate:
    """In visits: towers by the ratio of their totals, the city by the number of visits."""
    ratio = _ratio(seen, past, xy)
    total = max(float((ratio.factor[:, None] * seen.series).sum()), 1.0)
    scale, error = max(visits.value, 0.0) / total, visits.variance**0.5 / total
    series = scale * ratio.factor[:, None] * seen.series
    return WeekEstimate(series, Scaled(seen.series, seen.errors, ratio.factor, ratio.error, scale, error, xy))


def _ratio(seen: Seen, past: State, xy: Floats) -> TowerRatio:
    """By what the weights made each tower too small or too large, from the totals of all weeks."""
    if not past.towers_weight.all():
        return TowerRatio(np.ones(len(xy)), np.zeros(len(xy)))
    week = np.ones((seen.series.shape[1], 1))
    of_week = np.sqrt(variance_of_sums(seen.errors, eye_array(len(xy), format="csr"), week)[:, 0])
    filtered = Totals(past.filtered / past.towers_weight, of_week / max(float(seen.series.sum()), 1.0))
    measured = Totals(past.measured / past.towers_weight, np.sqrt(past.towers_noise) / past.towers_weight)
    return tower_ratio(measured, filtered, xy)


def final_week(before: State | None, after: State | None, measured: Measured, xy: Floats) -> WeekEstimate:
    """The estimate of a week between others.

    before: what the weeks before have left, oldest first. after: what the weeks after have left, newest first. Either
    may be None where there is no such week. xy: positions of the towers, distinct.
    """
    ground = Ground.of(xy, nearness(xy))
    sides = [_agreeing(side, measured, ground) for side in (before, after) if side is not None and side.tells]
    return estimate_week(reduce(State.joined, sides) if sides else None, measured, xy, ground)[0]


def _agreeing(side: State, measured: Measured, ground: Ground) -> State:
    """What one side says, but hardly of the towers and days that it knows otherwise than this week does."""
    look = first_look(side, measured, ground)
    odd = look.towers[:, None] | np.repeat(look.days, DAY)
    return side.faded(np.where(odd, FORGOTTEN, 1.0))
