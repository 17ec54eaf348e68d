"""Coefficients of series: orthonormal, invertible, and honest about what a cut leaves out."""

import numpy as np
import pytest

from density_assets.estimation.rhythm import coefficients, keep_first, series_from, tail_norms

HOURS = 168


@pytest.fixture
def series():
    return np.random.default_rng(0).gamma(2, 50, (7, HOURS))


def test_a_constant_is_the_first_wave_alone():
    F = coefficients(np.full((1, HOURS), 3.0))
    assert F[0, 0] == pytest.approx(3 * np.sqrt(HOURS))
    assert abs(F[0, 1:]).max() < 1e-12


def test_the_formula_of_the_second_type(series):
    t, i = np.arange(HOURS), np.arange(HOURS)[:, None]
    waves = np.cos(np.pi * i * (2 * t + 1) / (2 * HOURS)) * np.sqrt(2 / HOURS)
    waves[0] /= np.sqrt(2)
    assert coefficients(series) == pytest.approx(series @ waves.T, abs=1e-9)


def test_there_and_back(series):
    assert series_from(coefficients(series)) == pytest.approx(series)


def test_norms_are_those_of_the_series(series):
    assert np.linalg.norm(coefficients(series), axis=1) == pytest.approx(np.linalg.norm(series, axis=1))


def test_tails_by_hand():
    assert tail_norms(np.array([[7.0, 2.0, 3.0, -4.0], [0, 0, 0, 0]])) == pytest.approx(
        np.array([[np.sqrt(29), 5, 4, 0], [0, 0, 0, 0]])
    )


def test_tails_are_the_error_of_keeping_the_first(series):
    F = coefficients(series)
    for k in (1, 2, 100, 167, 168):
        kept = series_from(keep_first(F, np.full(len(F), k)))
        assert np.linalg.norm(series - kept, axis=1) == pytest.approx(tail_norms(F)[:, k - 1], abs=1e-9)


def test_tails_far_below_the_first_coefficient_keep_their_digits():
    F = np.full((1, HOURS), 1e-6)
    F[0, 0] = 1e9
    assert tail_norms(F)[0] == pytest.approx(1e-6 * np.sqrt(np.arange(167, -1, -1)), rel=1e-12)


def test_tails_never_grow(series):
    assert (np.diff(tail_norms(coefficients(series)), axis=1) <= 0).all()


def test_each_row_keeps_its_own_number():
    F = np.array([[1.0, 2.0, 3.0]] * 3)
    assert keep_first(F, np.array([1, 3, 2])).tolist() == [[1, 0, 0], [1, 2, 3], [1, 2, 0]]
    assert F.tolist() == [[1, 2, 3]] * 3


def test_a_number_out_of_range_is_refused():
    with pytest.raises(ValueError, match=r"2 numbers from 1 to 168, got 2, of which 1 are outside \(169\)"):
        keep_first(np.ones((2, HOURS)), np.array([1, 169]))
    with pytest.raises(ValueError, match=r"outside \(0\)"):
        keep_first(np.ones((1, HOURS)), np.array([0]))
    with pytest.raises(ValueError, match="2 numbers from 1 to 168, got 3"):
        keep_first(np.ones((2, HOURS)), np.array([1, 2, 3]))
