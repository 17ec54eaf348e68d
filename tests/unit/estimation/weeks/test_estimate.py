"""Weeks that learn from weeks: better with every week, never fooled by what changes, honest about errors."""

import numpy as np
import pytest

from density_assets.estimation.kronecker import learn, modes, nearness
from density_assets.estimation.shrinkage import posterior
from density_assets.estimation.sizes import Ground, sizes
from density_assets.estimation.weeks.estimate import estimate_week
from density_assets.estimation.weeks.state import Measured, State

TOWERS, HOURS, SIGMA = 120, 168, 40.0
XY = 400.0 * np.column_stack([np.arange(TOWERS) % 12, np.arange(TOWERS) // 12])


def usual_week() -> np.ndarray:
    """Offices in the west, homes in the east, sizes that differ."""
    hour, weekend = np.arange(HOURS) % 24, np.arange(HOURS) // 24 >= 5
    office = np.where(weekend, 0.2, 1.0) * np.exp(-(((hour - 13) / 4.0) ** 2))
    home = 0.3 + np.exp(-(((hour - 20) / 3.0) ** 2))
    west = XY[:, :1] / XY[:, 0].max()
    size = np.random.default_rng(1).lognormal(0.0, 0.4, TOWERS)[:, None]
    return 100.0 * size * (west * home + (1 - west) * office)


def measure(truth: np.ndarray, seed: int, *, towers: bool = True) -> Measured:
    rng = np.random.default_rng(seed)
    noisy = rng.poisson(truth) + rng.normal(0.0, SIGMA, truth.shape)
    totals = truth.sum(axis=1) + rng.normal(0.0, 200.0, TOWERS) if towers else None
    return Measured(noisy, SIGMA, truth.sum() + rng.normal(0.0, 1000.0), 1000.0, totals, 200.0 if towers else 0.0)


def error(estimate, truth: np.ndarray) -> float:
    return float(np.abs(estimate.series - truth).mean() / truth.mean())


def after(weeks: list[np.ndarray]):
    """The estimate of the last of some weeks, and the one that knows no other week."""
    state, estimate = None, None
    for number, truth in enumerate(weeks):
        measured = measure(truth, number)
        estimate, state = estimate_week(state, measured, XY)
    return estimate, estimate_week(None, measured, XY)[0], state


def test_the_first_week_is_the_filter_of_a_single_week():
    measured = measure(usual_week(), 0, towers=False)
    estimate, state = estimate_week(None, measured, XY)
    near = nearness(XY)
    size = sizes(measured.series, SIGMA, Ground.of(XY, near))
    mean = np.maximum(learn(measured.series, SIGMA, size, modes(size, near)).mean, 0.0)
    assert estimate.series == pytest.approx(mean * measured.visits / mean.sum())
    assert state.weeks == 1


@pytest.mark.parametrize("part", [1.0, 0.1])
def test_the_priors_of_rhythm_and_sizes_gain_most_in_a_small_city(part):
    truth = part * usual_week()
    measured = measure(truth, 0, towers=False)
    without = np.maximum(posterior(measured.series, SIGMA, XY).mean, 0.0)
    without *= measured.visits / without.sum()
    gained = error(estimate_week(None, measured, XY)[0], truth) / (np.abs(without - truth).mean() / truth.mean())
    assert gained < (0.7 if part < 1 else 0.95)


def test_every_week_makes_the_next_one_better():
    truth, errors, state = usual_week(), [], None
    for number in range(6):
        estimate, state = estimate_week(state, measure(truth, number), XY)
        errors.append(error(estimate, truth))
    assert errors[1] < 0.9 * errors[0]
    assert errors[5] < 0.7 * errors[0]


def test_the_state_can_be_stored_and_does_not_grow():
    truth = usual_week()
    _, _, two = after([truth] * 2)
    _, _, five = after([truth] * 5)
    assert {name: array.shape for name, array in two.arrays().items()} == {
        name: array.shape for name, array in five.arrays().items()
    }
    once, again = (estimate_week(state, measure(truth, 9), XY)[0] for state in (five, State.of(five.arrays())))
    assert (once.series == again.series).all()


def test_a_tower_that_closes_is_closed_and_stays_so():
    truth = usual_week()
    closed = truth.copy()
    closed[40] = 0.0
    at_once, alone, _ = after([truth] * 4 + [closed])
    assert at_once.series[40].mean() <= 1.1 * alone.series[40].mean() + 1.0
    later, _, _ = after([truth] * 4 + [closed] * 3)
    assert later.series[40].mean() < 0.1 * truth[40].mean()


def test_an_outage_of_two_days_is_seen_and_forgotten():
    truth = usual_week()
    outage = truth.copy()
    dark = np.argsort(-truth.sum(axis=1))[:5]
    outage[dark, 60:108] = 0.0
    during, alone, _ = after([truth] * 4 + [outage])
    assert during.series[dark, 60:108].mean() < 0.3 * truth[dark, 60:108].mean()
    assert np.abs(during.series - outage)[dark].mean() < np.abs(alone.series - outage)[dark].mean()
    afterwards, _, _ = after([truth] * 4 + [outage, truth])
    assert error(afterwards, truth) < 0.2
    assert np.abs(afterwards.series - truth)[dark, 60:108].mean() < 0.2 * truth[dark, 60:108].mean()


def test_a_holiday_is_taken_from_its_own_week_and_teaches_nothing():
    truth = usual_week()
    holiday = truth.copy()
    holiday[:, 72:96] = truth[::-1, 144:168]  # other people, elsewhere
    during, alone, state = after([truth] * 4 + [holiday])
    thursday = slice(72, 96)
    assert (
        np.abs(during.series - holiday)[:, thursday].mean() <= 1.1 * np.abs(alone.series - holiday)[:, thursday].mean()
    )
    assert state.odd_weeks.tolist() == [0, 0, 0, 1, 0, 0, 0]
    afterwards, _, _ = after([truth] * 4 + [holiday, truth])
    assert error(afterwards, truth) < 0.2


def test_a_day_that_stays_odd_becomes_usual():
    truth = usual_week()
    changed = truth.copy()
    changed[:, 72:96] = truth[::-1, 144:168]
    late, alone, state = after([truth] * 4 + [changed] * 6)
    assert state.odd_weeks.tolist() == [0.0] * 7
    thursday = slice(72, 96)
    assert np.abs(late.series - changed)[:, thursday].mean() < np.abs(alone.series - changed)[:, thursday].mean()


@pytest.mark.parametrize("weeks", [1, 2, 5])
def test_intervals_of_any_sum_hold(weeks):
    truth, held = usual_week(), []
    areas = np.vstack([np.eye(TOWERS)[:20], np.kron(np.eye(4), np.ones((1, 30))), np.ones((1, TOWERS))])
    periods = np.column_stack([np.eye(HOURS)[:, ::12], np.kron(np.eye(7), np.ones((24, 1))), np.ones(HOURS)])
    for first in range(6):
        state = None
        for number in range(weeks):
            estimate, state = estimate_week(state, measure(truth, 100 * first + number), XY)
        off = np.abs(areas @ (estimate.series - truth) @ periods)
        held.append(off <= 1.96 * np.sqrt(estimate.variance_of_sums(areas, periods)))
    assert np.mean(held) >= 0.92


def test_totals_undo_the_bias_of_weights():
    truth = usual_week()
    bias = 1.0 + 0.2 * (XY[:, 0] > XY[:, 0].mean())
    measured = measure(truth, 3)
    biased = Measured(measured.series, SIGMA, measured.visits, 1000.0, (truth * bias[:, None]).sum(axis=1), 200.0)
    estimate, _ = estimate_week(None, biased, XY)
    shares = estimate.series.sum(axis=1) / estimate.series.sum()
    wanted = (truth * bias[:, None]).sum(axis=1) / (truth * bias[:, None]).sum()
    plain = truth.sum(axis=1) / truth.sum()
    assert np.abs(shares - wanted).sum() < 0.5 * np.abs(plain - wanted).sum()


def test_a_city_below_the_noise_is_empty_and_says_how_uncertain_that_is():
    rng = np.random.default_rng(0)
    silent = Measured(-np.abs(rng.normal(0.0, SIGMA, (TOWERS, HOURS))), SIGMA, 0.0, 1000.0)
    estimate, state = estimate_week(None, silent, XY)
    again, _ = estimate_week(state, silent, XY)
    for week in (estimate, again):
        assert week.series.max() == 0.0
        assert (week.variance_of_sums(np.eye(TOWERS), np.eye(HOURS)) > 0).all()


def test_an_hour_in_which_nobody_was_ever_seen_is_no_obstacle():
    truth = usual_week()
    truth[:, 3:6] = 0.0
    state = None
    for number in range(3):
        measured = measure(truth, number)
        measured.series[:, 3:6] = -1.0  # so that the profile is zero there
        estimate, state = estimate_week(state, measured, XY)
    assert np.isfinite(estimate.series).all()
    assert np.isfinite(estimate.variance_of_sums(np.eye(TOWERS), np.eye(HOURS))).all()
    assert estimate.series[:, 3:6].mean() < 0.05 * truth.mean()


@pytest.mark.parametrize(
    ("series", "sigma", "message"),
    [
        (np.full((TOWERS, HOURS), np.nan), 1.0, "finite"),
        (np.ones((TOWERS, 24)), 1.0, "168 hours"),
        (np.ones((TOWERS, HOURS)), 0.0, "positive noise"),
    ],
)
def test_measurements_that_are_none_are_refused(series, sigma, message):
    with pytest.raises(ValueError, match=message):
        estimate_week(None, Measured(series, sigma, 1.0, 1.0), XY)


def test_a_past_of_other_towers_is_refused():
    _, state = estimate_week(None, measure(usual_week(), 0), XY)
    with pytest.raises(ValueError, match="same 60 towers"):
        estimate_week(state, Measured(usual_week()[:60], SIGMA, 1.0, 1.0), XY[:60])
