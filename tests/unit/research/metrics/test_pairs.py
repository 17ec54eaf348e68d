import numpy as np
import pytest

from density_assets.research.metrics.pairs import by_hour_of_day, mean_where_defined, paired, shares


def test_shapes_that_numpy_would_broadcast_are_refused():
    with pytest.raises(ValueError, match=r"one shape and a value, got \(3, 4\), \(1, 4\)"):
        paired(np.ones((3, 4)), np.ones((1, 4)))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_estimate_that_is_not_finite_is_refused(value):
    with pytest.raises(ValueError, match="the estimate must be finite, got 1 values"):
        paired(np.ones((2, 2)), np.array([[1, 1], [1, value]]))


def test_shares_sum_to_one_in_each_hour_and_an_empty_hour_stays_empty():
    np.testing.assert_array_equal(shares(np.array([[1.0, 0], [3, 0]])), [[0.25, 0], [0.75, 0]])


def test_a_negative_count_has_no_share():
    with pytest.raises(ValueError, match="no negative count, got -2: clip it first"):
        shares(np.array([[1.0], [-2]]))


def test_hours_of_the_day_are_means_over_the_days_that_have_them():
    week = np.tile(np.arange(24.0), 7)
    week[3] = 10  # Monday
    week[4::24] = np.nan
    week[[24 + 5, 48 + 5]] = np.nan
    daily = by_hour_of_day(week)
    assert daily[3] == (10 + 6 * 3) / 7
    assert np.isnan(daily[4])
    np.testing.assert_array_equal(daily[5:], np.arange(5, 24))


def test_the_mean_leaves_out_what_is_undefined():
    assert mean_where_defined(np.array([1, np.nan, 3])) == 2
    assert np.isnan(mean_where_defined(np.array([np.nan])))
