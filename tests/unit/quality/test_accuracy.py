"""Errors, correlation and earth mover's distance agree with slow, independent ways of computing them."""

import numpy as np
import ot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog
from scipy.spatial.distance import cdist
from scipy.stats import pearsonr, wasserstein_distance

from density_assets.quality import accuracy
from density_assets.quality.accuracy import (
    by_hour_of_day,
    emd_per_hour,
    mean_emd,
    mean_where_defined,
    mre,
    mre_per_cell,
    mre_per_hour,
    paired,
    pearson,
    pearson_per_row,
    shares,
)
from density_assets.research.published_metrics import (
    mae_chen,
    mre_chen,
    mre_published_pyrgelis,
    mre_published_pyrgelis_busiest,
)


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


# --- relative errors ---

TRUE = np.array([[0, 0, 200, 800], [0, 10, 20, 70], [0, 0, 0, 0]])
ESTIMATE = np.array([[3, 0, 100, 880], [0, 11, 20, 0], [5, 0, 0, 0]])


def naive(true, estimate, gamma_of_row):
    return [
        np.mean([abs(e - x) / max(gamma_of_row(row), x) for x, e in zip(row, estimated, strict=True)])
        for row, estimated in zip(true, estimate, strict=True)
    ]


@pytest.fixture
def sparse_week():
    rng = np.random.default_rng(1)
    true = rng.poisson(rng.lognormal(1, 2, size=(40, 1)), size=(40, 24)) + np.eye(40, 24, dtype=int)
    true[-20:, 0] += 1  # no empty row
    return true, np.maximum(true + rng.laplace(0, 3, true.shape), 0)


def test_the_error_of_each_cell_by_hand():
    cells = mre_per_cell(TRUE, ESTIMATE)
    np.testing.assert_allclose(cells[:2], [(3 / 1 + 0 + 100 / 200 + 80 / 800) / 4, (0 + 1 / 10 + 0 + 70 / 70) / 4])


def test_a_cell_nobody_visited_has_no_relative_error_whatever_the_estimate():
    assert np.isnan(mre_per_cell(TRUE, ESTIMATE)[2])
    assert np.isnan(mre_per_cell(TRUE, TRUE)[2])
    assert mre(TRUE, ESTIMATE) == pytest.approx((3.6 / 4 + 1.1 / 4) / 2)
    assert mre(TRUE, TRUE) == 0
    assert np.isnan(mre(0 * TRUE, ESTIMATE))


def test_the_published_tables_take_ten_percent_and_count_an_empty_roi_as_zero():
    rows = (3 / 100 + 0 + 100 / 200 + 80 / 800) / 4, (0 + 1 / 10 + 0 + 70 / 70) / 4, 0
    assert mre_published_pyrgelis(TRUE, ESTIMATE) == pytest.approx(sum(rows) / 3)


def test_sampling_a_fifth_away_gives_the_published_number():
    # Pyrgelis et al., Tables 17 and 18, w = 0.2: 0.012 for the busiest ROIs, since 0.2·Σx / (0.1·Σx) / 168 hours
    true = np.full((30, 168), 50.0)
    assert round(mre_published_pyrgelis_busiest(true, 0.8 * true), 3) == 0.012


def test_the_busiest_rois_are_those_of_the_original():
    true, estimate = np.ones((2, 20, 4))
    true[[3, 7]] = 5, 6, 7, 8
    estimate[[0, 1]] = 100
    expected = mre_published_pyrgelis(true[[3, 7]], estimate[[3, 7]])
    assert mre_published_pyrgelis_busiest(true, estimate) == pytest.approx(expected)


def test_all_agree_with_loops(sparse_week):
    true, estimate = sparse_week
    np.testing.assert_allclose(mre_per_cell(true, estimate), naive(true, estimate, lambda row: 0.001 * row.sum()))
    assert mre(true, estimate) == pytest.approx(np.mean(naive(true, estimate, lambda row: 0.001 * row.sum())))
    published = np.mean(naive(true, estimate, lambda row: 0.1 * row.sum()))
    assert mre_published_pyrgelis(true, estimate) == pytest.approx(published)
    per_time_stamp = naive(true.T, estimate.T, lambda _: 0.001)
    assert mre_chen(true, estimate) == pytest.approx(np.mean(per_time_stamp))


def test_an_hour_has_the_mean_error_of_the_cells_that_anyone_visited(sparse_week):
    true, estimate = sparse_week
    gamma = 0.001 * true.sum(axis=1)
    one = np.mean([abs(e - t) / max(g, t) for t, e, g in zip(true[:, 3], estimate[:, 3], gamma, strict=True)])
    assert mre_per_hour(true, estimate)[3] == pytest.approx(one)
    nobody = np.zeros((1, true.shape[1]))
    np.testing.assert_allclose(
        mre_per_hour(np.vstack([true, nobody]), np.vstack([estimate, nobody + 5])),
        mre_per_hour(true, estimate),
    )
    assert np.isnan(mre_per_hour(nobody, nobody)).all()  # no error is not an error of zero


def test_errors_of_chen_by_hand():
    true, estimate = np.array([[0, 2], [4, 0]]), np.array([[1, 2], [2, 0]])
    assert mae_chen(true, estimate) == pytest.approx((1 + 0 + 2 + 0) / 4)
    assert mre_chen(true, estimate) == pytest.approx((1 / 0.001 + 0 + 2 / 4 + 0) / 4)


def test_single_precision_does_not_change_the_result(sparse_week):
    true, estimate = sparse_week[0].astype(np.float32), sparse_week[1].astype(np.float32)
    assert mre(true, estimate) == mre(true.astype(float), estimate.astype(float))


# --- correlation ---


def test_rows_by_hand():
    true = np.array([[1, 2, 3], [1, 2, 3], [0, 1, 0]])
    estimate = np.array([[10, 20, 30], [3, 2, 1], [1, 1, 0]])
    np.testing.assert_allclose(pearson_per_row(true, estimate), [1, -1, 0.5])
    assert pearson(true, estimate) == pytest.approx(0.5 / 3)


@pytest.mark.parametrize("constant", [0, 0.1, 1e9])
def test_a_constant_series_counts_zero(constant):
    flat, rising = np.full((1, 168), constant), np.arange(168.0)[None]
    assert pearson(flat, rising) == pearson(rising, flat) == pearson(flat, flat) == 0


def test_agrees_with_scipy_row_by_row():
    rng = np.random.default_rng(2)
    true = rng.poisson(20, size=(50, 168))
    estimate = true + rng.normal(0, 5, true.shape)
    expected = [pearsonr(x, y).statistic for x, y in zip(true, estimate, strict=True)]
    np.testing.assert_allclose(pearson_per_row(true, estimate), expected)


def test_tiny_values_do_not_vanish():
    true = np.array([[1e-200, 2e-200, 4e-200]])
    assert pearson(true, 3 * true) == pytest.approx(1)


@settings(deadline=None)
@given(arrays(np.float64, (3, 5), elements=st.integers(0, 1000)), st.integers(1, 50), st.integers(0, 50))
def test_scale_and_level_do_not_matter(true, scale, level):
    estimate = np.roll(true, 1, axis=1) + np.arange(5)
    expected = pearson_per_row(true, estimate)
    assert (np.abs(expected) <= 1).all()
    np.testing.assert_allclose(pearson_per_row(true, scale * estimate + level), expected, atol=1e-12)


# --- earth mover's distance ---

SQUARE = np.array([[0, 0], [300, 0], [0, 400], [300, 400]])
PLACES = np.random.default_rng(7).uniform(0, 10_000, size=(8, 2))
maps = arrays(np.float64, (8, 1), elements=st.integers(0, 50)).filter(np.any)


@pytest.fixture
def two_maps():
    rng = np.random.default_rng(8)
    true = rng.poisson(rng.lognormal(3, 1, size=(60, 1)), size=(60, 6)) + 1
    return true, true * rng.normal(1, 0.3, true.shape).clip(0), rng.uniform(0, 10_000, size=(60, 2))


def by_linear_program(p, q, metres):
    n = len(p)
    rows, columns = np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))
    return linprog(metres.ravel(), A_eq=np.vstack([rows, columns]), b_eq=np.concatenate([p, q])).fun


def test_metres_by_hand():
    true = np.array([[2, 1, 1], [0, 1, 0], [0, 1, 0], [0, 1, 1]])
    estimate = np.array([[0, 2, 9], [0, 2, 0], [0, 0, 0], [5, 0, 9]])
    # all across the diagonal; half up one side; the same shares
    np.testing.assert_allclose(emd_per_hour(true, estimate, SQUARE), [500, 200 * 2 / 2, 0], atol=1e-9)
    assert mean_emd(true, estimate, SQUARE) == pytest.approx(700 / 3)


def test_on_a_line_it_is_the_wasserstein_distance():
    rng = np.random.default_rng(9)
    x = rng.uniform(0, 5_000, 40)
    true, estimate = rng.poisson(2, size=(2, 40, 5)) + 1
    expected = [wasserstein_distance(x, x, p, q) for p, q in zip(true.T, estimate.T, strict=True)]
    np.testing.assert_allclose(emd_per_hour(true, estimate, np.column_stack([x, 0 * x])), expected)


def test_agrees_with_a_linear_program_and_with_the_solver_on_whole_maps(two_maps):
    true, estimate, places = two_maps
    p, q, metres = true / true.sum(axis=0), estimate / estimate.sum(axis=0), cdist(places, places)
    hours = emd_per_hour(true, estimate, places)
    whole = [ot.emd2(np.ascontiguousarray(p[:, t]), np.ascontiguousarray(q[:, t]), metres) for t in range(6)]
    np.testing.assert_allclose(hours, whole, rtol=1e-9)
    assert hours[0] == pytest.approx(by_linear_program(p[:, 0], q[:, 0], metres))


@settings(deadline=None)  # the solver's time is not what is tested
@given(maps, maps)
def test_cancelling_shared_mass_changes_nothing(true, estimate):
    p, q = true[:, 0] / true.sum(), estimate[:, 0] / estimate.sum()
    whole = ot.emd2(p, q, cdist(PLACES, PLACES))
    assert mean_emd(true, estimate, PLACES) == pytest.approx(whole, rel=1e-9, abs=1e-8)


@settings(deadline=None)  # the solver's time is not what is tested
@given(maps, maps, maps)
def test_it_is_a_metric_of_maps(a, b, c):
    def distance(p, q):
        return mean_emd(p, q, PLACES)

    assert distance(a, b) == pytest.approx(distance(b, a), rel=1e-9, abs=1e-8)
    assert distance(a, 3 * a) == pytest.approx(0, abs=1e-8)
    assert distance(a, c) <= distance(a, b) + distance(b, c) + 1e-8


def test_what_is_left_by_rounding_is_no_distance():
    true = np.random.default_rng(10).lognormal(0, 3, size=(8, 20))
    assert emd_per_hour(true, 0.1 * true, PLACES).max() < 1e-9
    single = emd_per_hour(true.astype(np.float32), true, PLACES)
    assert single.max() < 1e-2


def test_an_hour_with_one_empty_map_is_left_out_and_with_two_counts_zero():
    true, estimate = np.array([[1, 1, 0], [0, 0, 0]]), np.array([[0, 0, 0], [1, 0, 0]])
    places = SQUARE[:2]
    np.testing.assert_array_equal(emd_per_hour(true, estimate, places), [300, np.nan, 0])
    assert mean_emd(true, estimate, places) == 150


def test_chosen_hours_and_threads(two_maps):
    true, estimate, places = two_maps
    all_hours = emd_per_hour(true, estimate, places)
    np.testing.assert_array_equal(emd_per_hour(true, estimate, places, hours=[4, 1], threads=2), all_hours[[4, 1]])
    assert mean_emd(true, estimate, places, hours=range(2)) == pytest.approx(all_hours[:2].mean())


@pytest.mark.filterwarnings("ignore:numItermax")
def test_a_solution_that_is_not_optimal_is_refused(two_maps, monkeypatch):
    monkeypatch.setattr(accuracy, "MAX_PIVOTS", 1)
    with pytest.raises(RuntimeError, match="must be optimal, got: numItermax reached"):
        emd_per_hour(*two_maps)


def test_centroids_of_other_cells_are_refused():
    with pytest.raises(ValueError, match=r"8 rows of x and y, got shape \(4, 2\)"):
        emd_per_hour(np.ones((8, 1)), np.ones((8, 1)), SQUARE)
