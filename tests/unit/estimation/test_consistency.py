"""Counts people could have: whole, not negative, and the totals kept."""

import numpy as np
import pytest

from density_assets.estimation.clustering import consistent, scaled_to


def test_totals_are_kept_and_nothing_is_negative():
    noisy = np.random.default_rng(0).laplace(3, 20, (30, 200))
    counts = consistent(noisy, np.random.default_rng(1))
    assert counts.min() == 0
    assert counts.sum(axis=1).tolist() == np.maximum(np.rint(noisy).sum(axis=1), 0).tolist()
    assert (counts <= np.maximum(np.rint(noisy), 0)).all()


def test_a_row_below_zero_in_total_is_empty():
    counts = consistent(np.array([[3.0, -8, 1], [2, -2, 0], [1.4, 0.4, -0.4]]), np.random.default_rng(0))
    assert counts.tolist() == [[0, 0, 0], [0, 0, 0], [1, 0, 0]]


def test_units_are_taken_uniformly_among_bins_that_are_still_positive():
    # Two units from bins of 2 and 1: the small bin goes first with probability 1/2 and second with 1/4; it is left
    # with probability 1/4. Units drawn in proportion to the bins would leave it with 1/3.
    rows = consistent(np.tile([2.0, 1.0, -2.0], (6_000, 1)), np.random.default_rng(3))
    assert np.mean(rows[:, 1] == 1) == pytest.approx(0.25, abs=0.025)
    assert (rows.sum(axis=1) == 1).all()


def test_counts_are_scaled_to_the_people_there_are():
    scaled = scaled_to(np.array([[4, 0, 2], [0, 0, 0], [1, 1, 1]]), 4, np.random.default_rng(0))
    assert scaled.sum(axis=1).tolist() == [4, 4, 4]
    assert scaled[0].tolist() == [3, 0, 1]
    assert sorted(scaled[2].tolist()) == [1, 1, 2]


def test_densities_below_one_keep_their_order():
    scaled = scaled_to(np.array([[0.1, 0.4, 0.3, 0.05, 0.15]]), 2, np.random.default_rng(0))
    assert scaled.tolist() == [[0, 1, 1, 0, 0]]


@pytest.mark.parametrize("count", [0, 1])
def test_rows_that_say_nothing_favour_no_cell(count):
    scaled = scaled_to(np.full((400, 10), count), 3, np.random.default_rng(0))
    assert (scaled.sum(axis=1) == 3).all()
    # A cell has 3/10 of a person on average: five standard errors are 0.14 for a row drawn person by person.
    np.testing.assert_allclose(scaled.mean(axis=0), 0.3, atol=0.14)
    assert (scaled[0] != scaled[1:]).any()
