import numpy as np
import pytest

from density_assets.research.metrics import relative_error as metric

TRUE = np.array([[0, 0, 200, 800], [0, 10, 20, 70], [0, 0, 0, 0]])
ESTIMATE = np.array([[3, 0, 100, 880], [0, 11, 20, 0], [5, 0, 0, 0]])


def naive(true, estimate, gamma_of_row):
    return [
        np.mean([abs(e - x) / max(gamma_of_row(row), x) for x, e in zip(row, estimated, strict=True)])
        for row, estimated in zip(true, estimate, strict=True)
    ]


@pytest.fixture
def city():
    rng = np.random.default_rng(1)
    true = rng.poisson(rng.lognormal(1, 2, size=(40, 1)), size=(40, 24)) + np.eye(40, 24, dtype=int)
    true[-20:, 0] += 1  # no empty row
    return true, np.maximum(true + rng.laplace(0, 3, true.shape), 0)


def test_the_error_of_each_cell_by_hand():
    cells = metric.mre_per_cell(TRUE, ESTIMATE)
    np.testing.assert_allclose(cells[:2], [(3 / 1 + 0 + 100 / 200 + 80 / 800) / 4, (0 + 1 / 10 + 0 + 70 / 70) / 4])


def test_a_cell_nobody_visited_has_no_relative_error_whatever_the_estimate():
    assert np.isnan(metric.mre_per_cell(TRUE, ESTIMATE)[2])
    assert np.isnan(metric.mre_per_cell(TRUE, TRUE)[2])
    assert metric.mre(TRUE, ESTIMATE) == pytest.approx((3.6 / 4 + 1.1 / 4) / 2)
    assert metric.mre(TRUE, TRUE) == 0
    assert np.isnan(metric.mre(0 * TRUE, ESTIMATE))


def test_the_published_tables_take_ten_percent_and_count_an_empty_roi_as_zero():
    rows = (3 / 100 + 0 + 100 / 200 + 80 / 800) / 4, (0 + 1 / 10 + 0 + 70 / 70) / 4, 0
    assert metric.mre_published_pyrgelis(TRUE, ESTIMATE) == pytest.approx(sum(rows) / 3)


def test_sampling_a_fifth_away_gives_the_published_number():
    # Pyrgelis et al., Tables 17 and 18, w = 0.2: 0.012 for the busiest ROIs, since 0.2·Σx / (0.1·Σx) / 168 hours
    true = np.full((30, 168), 50.0)
    assert round(metric.mre_published_pyrgelis_busiest(true, 0.8 * true), 3) == 0.012


def test_the_busiest_rois_are_those_of_the_original():
    true, estimate = np.ones((2, 20, 4))
    true[[3, 7]] = 5, 6, 7, 8
    estimate[[0, 1]] = 100
    expected = metric.mre_published_pyrgelis(true[[3, 7]], estimate[[3, 7]])
    assert metric.mre_published_pyrgelis_busiest(true, estimate) == pytest.approx(expected)


def test_all_agree_with_loops(city):
    true, estimate = city
    np.testing.assert_allclose(
        metric.mre_per_cell(true, estimate), naive(true, estimate, lambda row: 0.001 * row.sum())
    )
    assert metric.mre(true, estimate) == pytest.approx(np.mean(naive(true, estimate, lambda row: 0.001 * row.sum())))
    published = np.mean(naive(true, estimate, lambda row: 0.1 * row.sum()))
    assert metric.mre_published_pyrgelis(true, estimate) == pytest.approx(published)
    per_time_stamp = naive(true.T, estimate.T, lambda _: 0.001)
    assert metric.mre_chen(true, estimate) == pytest.approx(np.mean(per_time_stamp))


def test_an_hour_has_the_mean_error_of_the_cells_that_anyone_visited(city):
    true, estimate = city
    gamma = 0.001 * true.sum(axis=1)
    one = np.mean([abs(e - t) / max(g, t) for t, e, g in zip(true[:, 3], estimate[:, 3], gamma, strict=True)])
    assert metric.mre_per_hour(true, estimate)[3] == pytest.approx(one)
    nobody = np.zeros((1, true.shape[1]))
    np.testing.assert_allclose(
        metric.mre_per_hour(np.vstack([true, nobody]), np.vstack([estimate, nobody + 5])),
        metric.mre_per_hour(true, estimate),
    )
    assert np.isnan(metric.mre_per_hour(nobody, nobody)).all()  # no error is not an error of zero


def test_errors_of_chen_by_hand():
    true, estimate = np.array([[0, 2], [4, 0]]), np.array([[1, 2], [2, 0]])
    assert metric.mae_chen(true, estimate) == pytest.approx((1 + 0 + 2 + 0) / 4)
    assert metric.mre_chen(true, estimate) == pytest.approx((1 / 0.001 + 0 + 2 / 4 + 0) / 4)


def test_single_precision_does_not_change_the_result(city):
    true, estimate = city[0].astype(np.float32), city[1].astype(np.float32)
    assert metric.mre(true, estimate) == metric.mre(true.astype(float), estimate.astype(float))
