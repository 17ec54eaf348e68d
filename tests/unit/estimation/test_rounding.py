"""Rounding by largest remainder: whole counts, no hour's total changed by more than its own rounding."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from density_assets.estimation.clustering import round_by_largest_remainder

densities = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=12), elements=st.floats(0, 1e6))


def rounded(column):
    return round_by_largest_remainder(np.array(column, dtype=float)[:, None])[:, 0].tolist()


def test_the_largest_remainders_go_up():
    assert rounded([1.2, 2.7, 3.6, 0.5]) == [1, 3, 4, 0]


def test_many_small_values_are_not_all_lost():
    assert rounded([0.25] * 8) == [1, 1, 0, 0, 0, 0, 0, 0]


def test_ties_go_to_the_first_cells():
    assert rounded([0.5, 2.5, 1.5, 0.5]) == [1, 3, 1, 0]


def test_whole_values_stay():
    assert rounded([3, 0, 7, 2.4, 0.6]) == [3, 0, 7, 2, 1]


def test_each_hour_is_rounded_on_its_own():
    density = np.array([[0.9, 0.1, 5.0], [0.1, 0.9, 0.0]])
    assert round_by_largest_remainder(density).tolist() == [[1, 0, 5], [0, 1, 0]]


def test_one_cell_is_rounded_as_a_number_is():
    assert (rounded([0.7]), rounded([0.3]), rounded([0.5]), rounded([1.5])) == ([1], [0], [0], [2])


@pytest.mark.parametrize("bad", [-0.1, np.nan, np.inf])
def test_a_density_that_is_negative_or_not_finite_is_refused(bad):
    with pytest.raises(ValueError, match="must be finite and not negative"):
        rounded([1.0, bad])


@given(densities)
def test_totals_hold_and_no_value_moves_by_one(density):
    counts = round_by_largest_remainder(density)
    assert counts.dtype == np.int64
    assert (counts >= 0).all()
    assert (abs(counts - density) < 1).all()
    assert counts.sum(axis=0).tolist() == np.rint(density.sum(axis=0)).tolist()


@given(densities)
def test_none_that_stayed_had_more_left_over_than_one_that_went_up(density):
    counts = round_by_largest_remainder(density)
    for before, after in zip(density.T, counts.T, strict=True):
        left_over, up = before - np.floor(before), after > np.floor(before)
        assert left_over[up].min(initial=1.0) >= left_over[~up].max(initial=0.0)
