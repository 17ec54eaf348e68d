import math

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

from density_assets.research.metrics.divergence import js_distance, js_distance_per_slot, js_divergence_of_totals


def test_divergence_of_totals_by_hand():
    # p = (1, 0), q = (1/2, 1/2), m = (3/4, 1/4)
    expected = (math.log(4 / 3) + 0.5 * math.log(2 / 3) + 0.5 * math.log(2)) / 2
    assert js_divergence_of_totals(np.array([7, 0]), np.array([2, 2])) == pytest.approx(expected)


def test_frequencies_matter_not_sizes_and_disjoint_ones_are_furthest_apart():
    assert js_divergence_of_totals(np.array([1, 2, 3]), np.array([10, 20, 30])) == 0
    assert js_divergence_of_totals(np.array([1, 0]), np.array([0, 5])) == pytest.approx(math.log(2))


def test_totals_are_one_number_per_place():
    with pytest.raises(ValueError, match="one number per place"):
        js_divergence_of_totals(np.ones((3, 2)), np.ones((3, 2)))


def test_distance_agrees_with_scipy_slot_by_slot_and_is_the_root_of_the_divergence():
    rng = np.random.default_rng(3)
    true, estimate = rng.poisson(3, size=(2, 60, 24))
    slots = js_distance_per_slot(true, estimate)
    np.testing.assert_allclose(slots, [jensenshannon(p, q) for p, q in zip(true.T, estimate.T, strict=True)])
    assert js_distance(true, estimate) == pytest.approx(slots.mean())
    assert js_divergence_of_totals(true[:, 0], estimate[:, 0]) == pytest.approx(slots[0] ** 2)


def test_maps_that_are_equal_but_for_rounding_have_no_distance():
    true = np.random.default_rng(0).lognormal(size=(60, 500))
    assert js_distance_per_slot(true, 0.1 * true).max() < 1e-7


def test_a_slot_without_mass_on_one_side_counts_half_of_the_furthest_and_on_both_sides_nothing():
    true, estimate = np.array([[1, 1, 0], [0, 1, 0]]), np.array([[0, 0, 0], [1, 0, 0]])
    slots = [math.sqrt(math.log(2)), math.sqrt(math.log(2) / 2), 0]
    np.testing.assert_allclose(js_distance_per_slot(true, estimate), slots)
    assert js_distance(true, estimate) == pytest.approx(np.mean(slots))


def test_a_week_of_which_nothing_is_left_has_the_distance_that_was_published():
    # Suppressing counts below 160 leaves next to nothing of 250 cabs; printed: 0.595.
    true = np.random.default_rng(0).poisson(20, size=(100, 168))
    assert js_distance(true, np.zeros_like(true)) == pytest.approx(0.589, abs=5e-4)
