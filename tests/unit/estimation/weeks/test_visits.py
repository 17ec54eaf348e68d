"""The number of visits of a week, with what earlier weeks and totals of towers say of it."""

import numpy as np
import pytest

from density_assets.estimation.weeks.state import DRIFT, Scale, Visits, visits_by_towers, visits_of_week

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


def test_a_number_that_the_past_cannot_explain_starts_anew():
    """People are seen twice as often from now on."""
    scale = NOTHING
    for _ in range(4):
        _, scale = visits_of_week(scale, Visits(140_000.0, 7_000.0**2), Visits(100_000.0, 1e4))
    other = Visits(280_000.0, 20_000.0**2)
    visits, scale = visits_of_week(scale, other, Visits(100_000.0, 1e4))
    assert (visits, scale.value) == (other, 2.8)
    visits, _ = visits_of_week(scale, Visits(270_000.0, 20_000.0**2), Visits(100_000.0, 1e4))
    assert 270_000.0 < visits.value < 280_000.0


@pytest.mark.parametrize(("measured", "weighted"), [(-5.0, 100.0), (100.0, -5.0), (2.0, 100.0)])
def test_what_does_not_rise_above_noise_says_nothing(measured, weighted):
    past = Scale(2.0, 10.0)
    assert visits_of_week(past, Visits(measured, 1.0), Visits(weighted, 1.0)) == (Visits(measured, 1.0), past)


def test_two_sides_are_joined_by_precision():
    assert Scale(2.0, 1.0).joined(Scale(4.0, 3.0)) == Scale(3.5, 4.0)
    assert Scale(2.0, 1.0).joined(NOTHING) == NOTHING.joined(Scale(2.0, 1.0)) == Scale(2.0, 1.0)
    assert NOTHING.joined(NOTHING) == NOTHING


@pytest.mark.parametrize("left_out", [0.02, 0.05])
def test_totals_of_towers_say_what_a_noisy_number_does_not(left_out):
    """20,000 people at epsilon 0.1: the number has an error of a half, the sum of 60 towers one of a tenth."""
    own, totals = Visits(420_000.0, 148_000.0**2), Visits(274_000.0 / (1 + left_out), 27_000.0**2)
    visits = own.together(visits_by_towers(totals, 20.0))
    assert visits.value == pytest.approx(274_000.0, rel=0.1)
    assert 0.1 < visits.variance**0.5 / visits.value < 0.15


def test_in_a_large_city_they_say_nothing():
    own = Visits(2.7e7, 50_000.0**2)
    assert own.together(visits_by_towers(Visits(2e7, 1e4), 20.0)).value == pytest.approx(own.value, rel=2e-4)


def test_tighter_weights_leave_out_more_and_say_less():
    loose, tight = (visits_by_towers(Visits(1e6, 1e4), norm) for norm in (20.0, 10.0))
    assert (loose.value, tight.value) == pytest.approx((1.04e6, 1.16e6))
    assert tight.variance**0.5 == pytest.approx(4 * loose.variance**0.5, rel=0.01)
