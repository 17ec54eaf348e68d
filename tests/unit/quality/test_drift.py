"""Drift between two released weeks."""

import numpy as np
import pytest

from density_assets.quality.drift import drift

QUIET = np.zeros(2)


def test_equal_weeks_have_no_drift_and_growth_is_not_movement():
    same = drift(np.array([60.0, 40.0]), np.array([60.0, 40.0]), QUIET)
    assert (same.total, same.moved, same.large) == (0, 0, False)
    grown = drift(np.array([90.0, 60.0]), np.array([60.0, 40.0]), QUIET)
    assert (grown.total, grown.moved) == (pytest.approx(0.5), pytest.approx(0))
    assert grown.large


def test_movement_at_the_same_total_is_seen():
    moved = drift(np.array([20.0, 80.0]), np.array([60.0, 40.0]), QUIET)
    assert (moved.total, moved.moved) == (0, pytest.approx(0.4))
    assert moved.large


def test_what_noise_explains_is_not_large():
    assert not drift(np.array([20.0, 80.0]), np.array([60.0, 40.0]), np.array([5.0, 5.0])).large


def test_weeks_without_visits_do_not_divide_by_zero():
    assert drift(QUIET, QUIET, QUIET).large is False
    assert drift(np.array([9.0, 9.0]), QUIET, QUIET).total == 18
    assert drift(QUIET, np.array([9.0, 9.0]), QUIET).total == -1
