"""The number of visits of a week, with what earlier weeks say of it."""

import numpy as np
import pytest

from density_assets.estimation.weeks.visits import DRIFT, Scale, Visits, visits_of_week

NOTHING = Scale(0.0, 0.0)


def test_the_first_week_is_what_was_measured():
    visits, scale = visits_of_week(NOTHING, Visits(3_000.0, 100.0), Visits(1_000.0, 1.0))
    assert visits == Visits(3_000.0, 100.0)
    assert scale.value == 3.0


def test_weeks_that_say_the_same_make_the_next_one_surer():
    """Four weeks with a noise of 10 %: alone they are off by 10 %, together by little more than half of it."""
    rng, errors = np.random.default_rng(1), []
    for _ in range(300):
        scale = NOTHING
        for _ in range(4):
            measured = Visits(10_000.0 + rng.normal(0.0, 1_000.0), 1_000.0**2)
            visits, scale = visits_of_week(scale, measured, Visits(5_000.0, 1.0))
        errors.append(visits.value - 10_000.0)
    assert np.std(errors) < 600.0
    assert visits.variance**0.5 == pytest.approx(np.std(errors), rel=0.15)


def test_a_precise_number_is_not_drawn_to_the_past():
    _, scale = visits_of_week(NOTHING, Visits(3e6, 1e6), Visits(1e6, 1e4))
    visits, _ = visits_of_week(scale, Visits(3.3e6, 1e6), Visits(1e6, 1e4))
    assert visits.value == pytest.approx(3.3e6, rel=DRIFT / 2)


@pytest.mark.parametrize(("measured", "weighted"), [(-5.0, 100.0), (100.0, -5.0), (2.0, 100.0)])
def test_what_does_not_rise_above_noise_says_nothing(measured, weighted):
    past = Scale(2.0, 10.0)
    assert visits_of_week(past, Visits(measured, 1.0), Visits(weighted, 1.0)) == (Visits(measured, 1.0), past)


def test_two_sides_are_joined_by_precision():
    assert Scale(2.0, 1.0).joined(Scale(4.0, 3.0)) == Scale(3.5, 4.0)
    assert Scale(2.0, 1.0).joined(NOTHING) == NOTHING.joined(Scale(2.0, 1.0)) == Scale(2.0, 1.0)
    assert NOTHING.joined(NOTHING) == NOTHING
