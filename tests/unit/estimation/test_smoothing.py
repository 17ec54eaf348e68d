"""Nights as exponentials: exact ones stay, the rest is fitted as well as a general solver does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import curve_fit

from density_assets.estimation.rhythm import smooth_nights

NIGHT = np.arange(168).reshape(7, 24)[:, :7].ravel()
DAY = np.setdiff1d(np.arange(168), NIGHT)


def week(night, day=100.0):
    """One place whose seven nights are the same."""
    return np.tile(np.concatenate([night, np.full(17, day)]), 7)[None]


def smoothed(night):
    return smooth_nights(week(night))[0, :7]


def squares(values, hours, b_low, b_high):
    """The residual of the best a·exp(b·x) that a general solver finds from several starts."""
    x = hours - hours[0]
    residuals = []
    for start in (0.05, 0.5, 2.0):
        b = start if b_high > 0 else -start
        bounds = ([0, b_low], [np.inf, b_high])
        (a, b), _ = curve_fit(lambda x, a, b: a * np.exp(b * x), x, values, p0=(values.mean(), b), bounds=bounds)
        residuals.append(np.square(values - a * np.exp(b * x)).sum())
    return min(residuals)


@pytest.mark.parametrize(("fall", "rise"), [(0.0, 0.0), (-0.01, 0.02), (-0.5, 0.7), (-3.0, 4.0), (-12.0, 9.0)])
def test_exact_exponentials_stay(fall, rise):
    night = np.concatenate([80 * np.exp(fall * np.arange(4)), 3 * np.exp(rise * np.arange(3))])
    assert smoothed(night) == pytest.approx(night, rel=1e-6, abs=1e-9)


def test_each_night_of_each_place_has_its_own_curves():
    rng = np.random.default_rng(5)
    days = np.full((40, 7, 24), 60.0)
    days[..., :4] = rng.uniform(1, 500, (40, 7, 1)) * np.exp(-rng.uniform(0, 2, (40, 7, 1)) * np.arange(4))
    days[..., 4:7] = rng.uniform(1, 50, (40, 7, 1)) * np.exp(rng.uniform(0, 2, (40, 7, 1)) * np.arange(3))
    series = days.reshape(40, 168)
    assert smooth_nights(series) == pytest.approx(series, rel=1e-6)


def test_hours_of_the_day_are_not_touched():
    series = np.random.default_rng(1).gamma(1, 10, (5, 168))
    before = series.copy()
    assert (smooth_nights(series)[:, DAY] == series[:, DAY]).all()
    assert (series == before).all()


def test_zeros_stay_zeros():
    assert (smooth_nights(np.zeros((3, 168))) == 0).all()


def test_a_constant_stays():
    assert smoothed([3.0] * 7) == pytest.approx(3.0, rel=1e-12)


def test_hours_that_go_the_other_way_become_their_mean():
    assert smoothed([1.0, 2.0, 3.0, 6.0, 9.0, 6.0, 0.0]) == pytest.approx([3, 3, 3, 3, 5, 5, 5])


def test_a_spike_where_the_curve_is_highest_stays():
    # The limit of ever steeper exponentials.
    assert smoothed([8.0, 0, 0, 0, 0, 0, 5.0]) == pytest.approx([8, 0, 0, 0, 0, 0, 5], abs=1e-9)


def test_a_spike_where_the_curve_is_lowest_is_spread():
    assert smoothed([0, 0, 0, 8.0, 6.0, 0, 0]) == pytest.approx([2, 2, 2, 2, 2, 2, 2])


def test_a_spike_inside_leaves_a_curve_between():
    falling = smoothed([0, 8.0, 0, 0, 0, 0, 0])[:4]
    assert (np.diff(falling) < 0).all()
    assert 0 < falling[0] < 8


def test_of_two_equal_fits_the_flatter_is_taken():
    # A spike and a constant both leave a residual of 16.
    assert smoothed([4.0, 0, 0, 4.0, 1, 1, 1])[:4] == pytest.approx([2, 2, 2, 2])


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e-12, 1e12, 1e300])
def test_any_scale_gives_finite_curves(scale):
    night = scale * np.array([5.0, 3, 0, 1, 0, 1, 7])
    fitted = smoothed(night)
    assert np.isfinite(fitted).all()
    assert (fitted >= 0).all()
    assert fitted == pytest.approx(scale * smoothed([5.0, 3, 0, 1, 0, 1, 7]), rel=1e-6, abs=1e-320)


@pytest.mark.parametrize("draw", ["uniform", "gamma", "exponential with noise"])
def test_as_good_as_a_general_solver(draw):
    rng = np.random.default_rng(len(draw))
    nights = {
        "uniform": rng.uniform(0.1, 10, (15, 7)),
        "gamma": rng.gamma(0.5, 20, (15, 7)) + 1e-3,
        "exponential with noise": 50 * np.exp([0, -0.4, -0.8, -1.2, -1.2, -0.6, 0]) * rng.uniform(0.7, 1.3, (15, 7)),
    }[draw]
    fitted = smooth_nights(np.concatenate([week(night) for night in nights]))[:, :7]
    for night, fit in zip(nights, fitted, strict=True):
        for hours, b_low, b_high in ((np.arange(4), -30.0, 0.0), (np.arange(4, 7), 0.0, 30.0)):
            ours = np.square(night[hours] - fit[hours]).sum()
            assert ours <= 1.001 * squares(night[hours], hours, b_low, b_high) + 1e-9


@settings(deadline=None, max_examples=60)
@given(arrays(np.float64, (2, 168), elements=st.floats(0, 1e6)))
def test_curves_are_finite_not_negative_and_go_the_right_way(series):
    night = smooth_nights(series).reshape(2, 7, 24)[..., :7]
    assert np.isfinite(night).all()
    assert (night >= 0).all()
    assert (np.diff(night[..., :4]) <= 0).all()
    assert (np.diff(night[..., 4:]) >= 0).all()


@settings(deadline=None, max_examples=60)
@given(arrays(np.float64, (1, 168), elements=st.floats(0, 1e6)))
def test_smoothing_twice_is_smoothing_once(series):
    once = smooth_nights(series)
    assert smooth_nights(once) == pytest.approx(once, rel=1e-6, abs=1e-6 * series.max())
