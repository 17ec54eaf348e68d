"""A week estimated again with the weeks after it: as good as the newest one, and not misled by what changed since."""

from functools import reduce

import numpy as np
import pytest
from test_estimate import HOURS, TOWERS, XY, error, measure, usual_week

from density_assets.estimation.weeks.estimate import estimate_week, final_week
from density_assets.estimation.weeks.state import State


def folded(measured) -> State | None:
    return reduce(lambda state, week: estimate_week(state, week, XY)[1], measured, None)


def finally_(weeks: list[np.ndarray], number: int):
    """One of some weeks with all others, with those before it only, and alone."""
    measured = [measure(truth, seed) for seed, truth in enumerate(weeks)]
    before, own = folded(measured[:number]), measured[number]
    after = folded(reversed(measured[number + 1 :]))
    return final_week(before, after, own, XY), estimate_week(before, own, XY)[0], estimate_week(None, own, XY)[0]


def error_at(estimate, truth: np.ndarray, tower: int) -> float:
    return float(np.abs(estimate.series - truth)[tower].mean())


def test_sums_over_weeks_join_whichever_side_comes_first():
    one, two = folded([measure(usual_week(), 0)]), folded([measure(usual_week(), seed) for seed in (1, 2)])
    joined, turned = one.joined(two).arrays(), two.joined(one).arrays()
    for name in joined:
        if name not in ("hours", "odd_weeks", "scale"):
            assert joined[name] == pytest.approx(one.arrays()[name] + two.arrays()[name])
        assert joined[name] == pytest.approx(turned[name])
    assert (joined["hours"] == two.hours).all()
    assert joined["scale"][1] == pytest.approx(one.scale[1] + two.scale[1])
    assert min(one.scale[0], two.scale[0]) <= joined["scale"][0] <= max(one.scale[0], two.scale[0])
    assert (State.empty(*one.total.shape).joined(two).scale == two.scale).all()


def test_the_first_week_becomes_about_as_good_as_the_last():
    truth = usual_week()
    final, provisional, _ = finally_([truth] * 6, 0)
    _, last, _ = finally_([truth] * 6, 5)
    assert error(final, truth) < 0.75 * error(provisional, truth)
    assert error(final, truth) < 1.1 * error(last, truth)


def test_a_week_in_the_middle_gains_from_both_sides():
    truth = usual_week()
    final, provisional, _ = finally_([truth] * 7, 2)
    assert error(final, truth) < 0.92 * error(provisional, truth)


def test_without_other_weeks_it_is_the_week_alone():
    own = measure(usual_week(), 0)
    assert (final_week(None, None, own, XY).series == estimate_week(None, own, XY)[0].series).all()


@pytest.mark.parametrize("number", [3, 4])
@pytest.mark.parametrize("rank", [30, 60, 90])
def test_a_tower_that_closes_in_between_is_open_before_and_closed_after(number, rank):
    """As many weeks on each side: a plain mean of all of them would be half a tower, in every week."""
    truth = usual_week()
    closed, tower = truth.copy(), int(np.argsort(truth.sum(axis=1))[rank])
    closed[tower] = 0.0
    weeks = [truth] * 4 + [closed] * 4
    final, *others = (error_at(estimate, weeks[number], tower) for estimate in finally_(weeks, number))
    if number == 3:
        assert final < 0.95 * min(others)
    else:
        assert final < 0.05 * truth[tower].mean()


def test_a_day_that_people_live_otherwise_from_now_on_is_what_it_was_before():
    truth = usual_week()
    other = truth.copy()
    other[:, 72:96] = truth[::-1, 144:168]
    weeks = [truth] * 4 + [other] * 4
    for number in (3, 4):
        final, _, alone = finally_(weeks, number)
        of_day = np.abs(final.series - weeks[number])[:, 72:96].mean()
        assert of_day <= 1.05 * np.abs(alone.series - weeks[number])[:, 72:96].mean()


@pytest.mark.parametrize("number", [0, 3])
def test_intervals_of_any_sum_hold(number):
    truth = usual_week()
    final, _, _ = finally_([truth] * 6, number)
    districts, days = np.kron(np.eye(12), np.ones((1, 10))), np.repeat(np.eye(7), 24, axis=0)
    for areas, hours in ((np.eye(TOWERS), np.eye(HOURS)), (districts, np.eye(HOURS)), (districts, days)):
        off = np.abs(areas @ (final.series - truth) @ hours)
        assert (off <= 1.96 * np.sqrt(final.variance_of_sums(areas, hours))).mean() >= 0.92
