import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import pearsonr

from density_assets.research.metrics.correlation import pearson, pearson_per_row


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
