import numpy as np
import pytest
from scipy.stats import kendalltau

from density_assets.metrics.ranking import busiest, f1_of_busiest, tau_of_busiest, tau_published

# 20 ROIs: the busiest are two; 30 ROIs: three
TWO_SLOTS = np.zeros((20, 2))
TWO_SLOTS[[3, 5, 8], :] = [[9, 1], [7, 2], [1, 3]]


@pytest.fixture
def city():
    rng = np.random.default_rng(4)
    true = rng.poisson(rng.lognormal(2, 1, size=(120, 1)), size=(120, 24))  # small counts: many ties
    return true, rng.binomial(true, 0.8)


def naive_busiest(counts):
    return sorted(range(len(counts)), key=lambda roi: (-counts[roi], roi))[: round(len(counts) / 10)]


def test_the_busiest_come_in_order_and_ties_go_to_the_first():
    np.testing.assert_array_equal(busiest(TWO_SLOTS), [[3, 8], [5, 5]])
    np.testing.assert_array_equal(busiest(np.ones(20)), [0, 1])
    np.testing.assert_array_equal(busiest(np.array([1.0, 2])), [1])


def test_f1_is_the_share_found():
    estimate = TWO_SLOTS.copy()
    estimate[[3, 11], 0] = 0, 5  # 5 and 11 are the busiest now; the other slot is right
    assert f1_of_busiest(TWO_SLOTS, estimate) == pytest.approx((1 / 2 + 1) / 2)
    assert f1_of_busiest(TWO_SLOTS, 10 * TWO_SLOTS) == 1


def test_f1_agrees_with_precision_and_recall(city):
    true, estimate = city
    scores = []
    for x, y in zip(true.T, estimate.T, strict=True):
        hits = len(set(naive_busiest(x)) & set(naive_busiest(y)))
        precision, recall = hits / len(naive_busiest(y)), hits / len(naive_busiest(x))
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
    lists = [(naive_busiest(x), naive_busiest(y)) for x, y in zip(true.T, estimate.T, strict=True)]
    assert tau_published(true, estimate) == pytest.approx(np.mean([kendalltau(a, b).statistic for a, b in lists]))
    assert tau_published(true, true) == 1


def test_published_tau_depends_on_the_numbering_where_tau_does_not():
    true, estimate = np.zeros((2, 30, 1))
    true[[0, 1, 2], 0] = 30, 20, 10
    estimate[[0, 1, 2], 0] = 20, 30, 10  # ids 0 1 2 against 1 0 2
    renumbered = np.r_[0, 2, 1, 3:30]  # ids 0 2 1 against 2 0 1
    assert tau_of_busiest(true, estimate) == tau_of_busiest(true[renumbered], estimate[renumbered])
    assert tau_published(true, estimate) == pytest.approx(1 / 3)
    assert tau_published(true[renumbered], estimate[renumbered]) == -1
