"""Trials of change touch the towers and hours they name, and nothing else."""

import numpy as np
import pytest

from density_assets.research.weeks.cities import plan_city
from density_assets.research.weeks.counting import WeekCounts, count_week
from density_assets.research.weeks.trials import FIRST, HELD_OUT, LAST, TRIALS, Stage, effect, happen

EVERY = TRIALS | HELD_OUT
TOWERS = 90


@pytest.fixture(scope="module")
def plan():
    return plan_city("small", "patchwork", TOWERS, 3, 3000)


@pytest.fixture(scope="module")
def week(plan) -> WeekCounts:
    return count_week(plan.visits(1), TOWERS)


@pytest.fixture(scope="module")
def stage(plan, week):
    return lambda: Stage(plan.ground.towers.xy, week.original, np.random.default_rng(8))


@pytest.mark.parametrize("name", EVERY)
def test_nothing_but_what_is_concerned_changes(name, week, stage):
    happenings = EVERY[name](stage())
    assert set(happenings) <= set(range(1, LAST + 1))
    assert FIRST in happenings
    for what in happenings.values():
        after = happen(week, what)
        assert what.concerned.any()
        assert np.array_equal(after.original[~what.concerned], week.original[~what.concerned])
        for l, counts in after.weighted.items():
            assert np.array_equal(counts[~what.concerned], week.weighted[l][~what.concerned])
        elsewhere = ~what.concerned.any(axis=1)
        assert np.allclose(after.tower_totals[elsewhere], week.tower_totals[elsewhere])
        assert min(after.original.min(), after.tower_totals.min(), after.visits) >= 0
        assert after.visits / week.visits == pytest.approx(after.original.sum() / week.original.sum())


@pytest.mark.parametrize("name", EVERY)
def test_a_trial_is_the_same_for_the_same_dice(name, stage):
    one, other = EVERY[name](stage()), EVERY[name](stage())
    assert all(np.array_equal(one[week].factor, other[week].factor) for week in one)


@pytest.mark.parametrize("name", sorted(set(EVERY) - {"opened towers"}))
def test_something_does_change(name, week, stage):
    assert not np.array_equal(happen(week, EVERY[name](stage())[FIRST]).original, week.original)


def test_towers_that_open_were_silent(week, stage):
    happenings = EVERY["opened towers"](stage())
    new = happenings[1].concerned.any(axis=1)
    assert happen(week, happenings[FIRST - 1]).original[new].sum() == 0
    assert np.array_equal(happen(week, happenings[FIRST]).original, week.original)


def test_extra_visits_weigh_what_visits_weigh(week):
    there = np.zeros(week.original.shape, dtype=bool)
    there[4, 10] = True
    after = happen(week, effect(there, extra=50.0))
    assert after.original[4, 10] == week.original[4, 10] + 50
    mean_weight = week.weighted[10].sum() / week.original.sum()
    assert after.weighted[10][4, 10] == pytest.approx(week.weighted[10][4, 10] + 50 * mean_weight)


def test_towers_swap_their_rows(week, stage):
    what = EVERY["swapped antennas"](stage())[FIRST]
    after = happen(week, what)
    assert np.array_equal(after.original, week.original[what.towers])
    assert np.allclose(after.tower_totals, week.tower_totals[what.towers])
