"""Cities over many weeks: the same seed is the same week, and no user counts more than the bounds say."""

from collections import Counter
from itertools import chain

import numpy as np
import pytest

from density_assets.calendar import HOURS
from density_assets.research.weeks.cities import counted_city, planned, truncated_week
from density_assets.research.weeks.counting import CLAMP, TOWER_NORM, WEIGHTS, count_truncated, count_week

GENERATORS = ("people", "patchwork")
TOWERS = 30


def city(generator: str, users: int = 400, seed: int = 5):
    return planned("small", generator, TOWERS, seed, users)


def visits_of(plan, number: int = 1) -> dict[int, list[tuple[int, int]]]:
    """Everybody's visits, (tower, hour), one by one."""
    found: dict[int, list[tuple[int, int]]] = {}
    for chunk in plan.visits(number):
        for user, hour, tower in zip(chunk.user.tolist(), chunk.hour.tolist(), chunk.tower.tolist(), strict=True):
            found.setdefault(user, []).append((tower, hour))
    return found


@pytest.mark.parametrize("generator", GENERATORS)
def test_counts_are_those_of_users_one_by_one(generator):
    plan = city(generator)
    people, week = visits_of(plan), count_week(plan.visits(1), TOWERS)
    original, weighted = np.zeros((TOWERS, HOURS)), {l: np.zeros((TOWERS, HOURS)) for l in WEIGHTS}
    totals = np.zeros(TOWERS)
    for visits in people.values():
        assert len(set(visits)) == len(visits)
        for tower, hour in visits:
            original[tower, hour] += 1
            for l in WEIGHTS:
                weighted[l][tower, hour] += min(1.0, (l / len(visits)) ** 0.5)
        per_tower = Counter(tower for tower, _ in visits)
        scale = min(1.0, (TOWER_NORM / sum(b * b for b in per_tower.values())) ** 0.5)
        for tower, times in per_tower.items():
            totals[tower] += scale * times
    assert np.array_equal(week.original, original)
    assert week.visits == sum(min(len(visits), CLAMP) for visits in people.values())
    units = 2**-16 * original  # each weight is rounded down to a multiple of 2^-16
    for l in WEIGHTS:
        assert (week.weighted[l] <= weighted[l] + 1e-9).all()
        assert (week.weighted[l] >= weighted[l] - units - 1e-9).all()
    assert np.allclose(week.tower_totals, totals, atol=2**-16 * original.sum())
    assert (week.tower_totals <= totals + 1e-9).all()


@pytest.mark.parametrize("generator", GENERATORS)
def test_no_user_exceeds_the_bounds(generator):
    chunk = next(city(generator, users=2000).visits(1))
    busiest = Counter(chunk.user.tolist()).most_common(1)[0][1]
    assert busiest > max(WEIGHTS)  # else the bounds would bind nobody
    for user in np.unique(chunk.user)[:500]:
        alone = [type(chunk)(*(values[chunk.user == user] for values in (chunk.user, chunk.hour, chunk.tower)))]
        week = count_week(alone, TOWERS)
        for l in WEIGHTS:
            assert (week.weighted[l] ** 2).sum() <= l
        assert (week.tower_totals**2).sum() <= TOWER_NORM
        assert week.visits <= CLAMP


@pytest.mark.parametrize("generator", GENERATORS)
def test_a_seed_is_a_city_and_weeks_differ(generator):
    first, again, other, later = (
        count_week(city(generator, seed=seed).visits(number), TOWERS).original
        for seed, number in ((5, 1), (5, 1), (6, 1), (5, 2))
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert not np.array_equal(first, later)


@pytest.mark.parametrize("generator", GENERATORS)
def test_a_larger_population_begins_with_the_smaller_one(generator):
    few, many = visits_of(city(generator, 100)), visits_of(city(generator, 300))
    assert few == {user: visits for user, visits in many.items() if user <= 100}


def test_a_patchwork_drifts_and_knows_holidays():
    weeks = [count_week(city("patchwork", 20_000).visits(number), TOWERS).original for number in (1, 2, 3, 10, 9)]
    size = [week.sum(axis=1) / week.sum() for week in weeks]
    assert np.abs(size[4] / size[0] - 1).mean() > 1.5 * np.abs(size[1] / size[0] - 1).mean()
    assert weeks[3].sum() < 0.95 * weeks[0].sum()  # school holidays
    by_day = [week.sum(axis=0).reshape(7, 24) for week in weeks]
    apart = [np.abs(days[3] / days[3].sum() - days[6] / days[6].sum()).sum() for days in by_day]
    assert apart[2] < 0.5 * apart[0]  # a Thursday like a Sunday


@pytest.mark.parametrize("generator", GENERATORS)
def test_truncation_keeps_one_visit_an_hour_and_so_many_of_a_user(generator):
    plan = city(generator)
    people = visits_of(plan)
    hours = {user: len({hour for _, hour in visits}) for user, visits in people.items()}
    counts = count_truncated(plan.visits(1), TOWERS, 8, seed=1)
    assert counts.truncated.sum() == sum(min(8, number) for number in hours.values())
    assert counts.sampled.sum() == len(people)
    seen = set(chain.from_iterable(people.values()))
    assert {(int(i), int(t)) for i, t in np.argwhere(counts.truncated)} <= seen


def test_weeks_are_kept_and_read_again(tmp_path):
    plan, said = city("patchwork"), []
    first = counted_city(plan, 2, tmp_path, said.append)
    assert len(said) == 2
    again = counted_city(plan, 2, tmp_path, said.append)
    assert len(said) == 2  # nothing was simulated
    week = count_week(plan.visits(2), TOWERS)
    for kept in (first.weeks[1], again.weeks[1]):
        assert np.array_equal(kept.original, week.original)
        assert np.allclose(kept.weighted[10], week.weighted[10], rtol=1e-6)
        assert np.array_equal(kept.tower_totals, week.tower_totals)
        assert kept.visits == week.visits
    assert np.array_equal(truncated_week(plan, tmp_path).sampled, truncated_week(plan, tmp_path).sampled)
    assert city("patchwork", seed=6).key != plan.key
