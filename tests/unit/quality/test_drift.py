"""Drift between two released weeks."""

import numpy as np
import pytest

from density_assets.quality.released import Known, drift


def week(*visits: float, error: float = 0.0) -> Known:
    return Known(np.array(visits), np.full(len(visits), error))


def test_equal_weeks_have_no_drift_and_growth_is_not_movement():
    same = drift(week(60, 40), week(60, 40))
    assert (same.total, same.moved, same.large) == (0, 0, False)
    grown = drift(week(90, 60), week(60, 40))
    assert (grown.total, grown.moved) == (pytest.approx(0.5), pytest.approx(0))
    assert grown.large


def test_movement_at_the_same_total_is_seen():
    moved = drift(week(20, 80), week(60, 40))
    assert (moved.total, moved.moved) == (0, pytest.approx(0.4))
    assert moved.large


def test_what_noise_of_either_week_explains_is_not_large():
    assert not drift(week(20, 80, error=5), week(60, 40)).large
    assert not drift(week(20, 80), week(60, 40, error=5)).large
    assert drift(week(20, 80, error=1), week(60, 40, error=1)).large


def test_weeks_without_visits_do_not_divide_by_zero():
    assert drift(week(0, 0), week(0, 0)).large is False
    assert drift(week(9, 9), week(0, 0)).total == 18
    assert drift(week(0, 0), week(9, 9)).total == -1
