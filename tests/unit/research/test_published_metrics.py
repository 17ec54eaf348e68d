"""Measures of published tables agree with scipy, and with what the tables print."""

import math

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.stats import kendalltau

from density_assets.research.published_metrics import (
    LOTS,
    busiest,
    f1_of_busiest,
    js_distance,
    js_distance_per_slot,
    js_divergence_of_totals,
    tau_of_busiest,
    tau_published,
)


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


# 20 ROIs: the busiest are two; 30 ROIs: three
TWO_SLOTS = np.zeros((20, 2))
TWO_SLOTS[[3, 5, 8], :] = [[9, 1], [7, 2], [1, 3]]


@pytest.fixture
def city():
    rng = np.random.default_rng(4)
    true = rng.poisson(rng.lognormal(2, 1, size=(120, 1)), size=(120, 24))  # small counts: many ties
    return true, rng.binomial(true, 0.8)


def lots(shape):
    """Place of each ROI in the order that breaks the ties of its slot."""
    return np.argsort(np.argsort(np.random.default_rng(LOTS).random(shape), axis=0), axis=0)


def naive_busiest(counts, lot):
    return sorted(range(len(counts)), key=lambda roi: (-counts[roi], lot[roi]))[: round(len(counts) / 10)]


def naive_lists(true, estimate):
    for x, y, lot in zip(true.T, estimate.T, lots(true.shape).T, strict=True):
        yield naive_busiest(x, lot), naive_busiest(y, lot)


def test_the_busiest_come_in_order():
    np.testing.assert_array_equal(busiest(TWO_SLOTS), [[3, 8], [5, 5]])
    np.testing.assert_array_equal(busiest(np.array([1.0, 2])), [1])


def test_ties_are_broken_by_lot_in_each_slot_and_always_alike():
    tied = busiest(np.ones((100, 168)))
    np.testing.assert_array_equal(tied, busiest(np.zeros((100, 168))))
    # 1,680 draws from 100 ROIs, 16.8 of each expected, standard deviation 4
    assert np.bincount(tied.ravel(), minlength=100).max() < 16.8 + 5 * 4


@pytest.mark.parametrize("where", [slice(0, 10), slice(90, 100)])
def test_a_map_without_information_finds_a_tenth_wherever_the_busiest_are_numbered(where):
    # as published for ranges of 250 among 250 cabs: F1 0.103, tau 0.017
    true = np.random.default_rng(1).poisson(5, size=(100, 168))
    true[where] += 100
    flat = np.full_like(true, 125)
    assert f1_of_busiest(true, flat) == pytest.approx(0.1, abs=0.035)  # five standard errors
    assert tau_published(true, flat) == pytest.approx(0, abs=0.1)


def test_f1_is_the_share_found():
    estimate = TWO_SLOTS.copy()
    estimate[[3, 11], 0] = 0, 5  # 5 and 11 are the busiest now; the other slot is right
    assert f1_of_busiest(TWO_SLOTS, estimate) == pytest.approx((1 / 2 + 1) / 2)
    assert f1_of_busiest(TWO_SLOTS, 10 * TWO_SLOTS) == 1


def test_f1_agrees_with_precision_and_recall(city):
    true, estimate = city
    scores = []
    for wanted, found in naive_lists(true, estimate):
        hits = len(set(wanted) & set(found))
        precision, recall = hits / len(found), hits / len(wanted)
        scores.append(2 * precision * recall / (precision + recall))
    assert f1_of_busiest(true, estimate) == pytest.approx(np.mean(scores))


def test_tau_by_hand():
    true = np.zeros((30, 1))
    true[:3, 0] = 30, 20, 10
    estimate = np.zeros((30, 1))
    estimate[:4, 0] = 8, 9, 9, 99  # pairs: two inverted, one tied in the estimate only
    assert tau_of_busiest(true, estimate) == pytest.approx(-2 / np.sqrt(3 * 2))


def test_tau_agrees_with_scipy_ties_included(city):
    true, estimate = city
    slots = zip(true.T, estimate.T, busiest(true).T, strict=True)
    expected = [kendalltau(x[rows], y[rows]).statistic for x, y, rows in slots]
    assert tau_of_busiest(true, estimate) == pytest.approx(np.mean(expected))


def test_a_ranking_that_is_one_tie_counts_zero():
    assert tau_of_busiest(TWO_SLOTS, 0 * TWO_SLOTS) == 0
    assert tau_of_busiest(TWO_SLOTS, TWO_SLOTS) == 1


def test_published_tau_compares_lists_of_ids(city):
    true, estimate = city
    expected = [kendalltau(a, b).statistic for a, b in naive_lists(true, estimate)]
    assert tau_published(true, estimate) == pytest.approx(np.mean(expected))
    assert tau_published(true, true) == 1


def test_published_tau_depends_on_the_numbering_where_tau_does_not():
    true, estimate = np.zeros((2, 30, 1))
    true[[0, 1, 2], 0] = 30, 20, 10
    estimate[[0, 1, 2], 0] = 20, 30, 10  # ids 0 1 2 against 1 0 2
    renumbered = np.r_[0, 2, 1, 3:30]  # ids 0 2 1 against 2 0 1
    assert tau_of_busiest(true, estimate) == tau_of_busiest(true[renumbered], estimate[renumbered])
    assert tau_published(true, estimate) == pytest.approx(1 / 3)
    assert tau_published(true[renumbered], estimate[renumbered]) == -1
