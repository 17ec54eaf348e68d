"""Silent hours are told from nights, from empty weeks and from noise."""

import numpy as np

from density_assets.quality.user_bounds import silent_hours

NOTHING = np.zeros(168)


def week() -> np.ndarray:
    """Nobody from 0 to 5 h, 1000 visits in every other hour."""
    return np.tile(np.where(np.arange(24) < 6, 0.0, 1000.0), 7)


def test_a_quiet_night_is_not_silence_and_a_lost_hour_is():
    assert silent_hours(week(), NOTHING) == []
    lost = week()
    lost[[30, 24 + 12]] = 0  # Tuesday 6 h and 12 h
    assert silent_hours(lost, NOTHING) == [30, 36]


def test_an_empty_week_and_a_single_visit_are_no_gap():
    assert silent_hours(NOTHING, NOTHING) == []
    one = NOTHING.copy()
    one[8] = 1
    assert silent_hours(one, NOTHING) == []


def test_silence_that_noise_could_have_made_is_none():
    lost = week()
    lost[36] = 0
    assert silent_hours(lost, np.full(168, 51.0)) == []  # silent is below 100, and noise of 51 moves by 102
    assert silent_hours(lost, np.full(168, 49.0)) == [36]
    assert silent_hours(lost, np.full(168, 49.0), margin=4.0) == []
    assert silent_hours(lost, np.full(168, 24.0), margin=4.0) == [36]


def test_a_quiet_hour_that_noise_made_quieter_is_none():
    """Sunday 8 h has a fifth of other days; noise of two standard errors takes it below a tenth."""
    week = np.full(168, 1330.0)
    week[6 * 24 + 8] = 285.0 - 2 * 100.0
    assert silent_hours(week, np.full(168, 100.0)) == []


def test_an_hour_that_does_not_happen_cannot_be_silent():
    lost = week()
    lost[154] = 0
    assert silent_hours(lost, NOTHING, missing=range(154, 155)) == []
