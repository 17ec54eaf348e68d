"""Cities over many weeks: the same seed is the same week, and no user exceeds the bounds."""

from collections import Counter
from itertools import chain

import numpy as np
import pytest

from density_assets.calendar import HOURS
from density_assets.estimation.weeks.state import Measured
from density_assets.privacy.composition import spent
from density_assets.research.weeks.cities import counted_city, plan_city, truncated_week
from density_assets.research.weeks.counting import (
    CLAMP,
    TOWER_NORM,
    WEIGHTS,
    WeekCounts,
    WeeksPromise,
    count_truncated,
    count_week,
    measure,
    queries,
)
from density_assets.research.weeks.estimators import (
    Filtered,
    coverage,
    interval_width,
    mean_of_weeks,
    week_alone,
    week_by_week,
)
from density_assets.research.weeks.sums_study import Sums, kinds_of_sums, score_intervals

GENERATORS = ("people", "patchwork")
TOWERS = 30


def city(generator: str, users: int = 400, seed: int = 5):
    return plan_city("small", generator, TOWERS, seed, users)


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


def flat_week(value: float = 100.0, towers: int = 12) -> WeekCounts:
    series = np.full((towers, 168), value)
    return WeekCounts(series, {10: 0.7 * series, 20: 0.8 * series}, series.sum(axis=1), float(series.sum()))


@pytest.mark.parametrize(
    "promise", [WeeksPromise(0.3), WeeksPromise(0.1, weight_l=10), WeeksPromise(1.0, 1e-6, 52, 10)]
)
def test_all_weeks_of_a_promise_cost_what_it_says(promise):
    cost = spent(queries(promise) * promise.weeks, promise.delta).epsilon
    assert 0.99 * promise.epsilon < cost <= promise.epsilon


def test_the_budget_is_shared_as_said():
    mu_squared = [(event.sensitivity / event.sigma) ** 2 for event in queries(WeeksPromise(0.3))]
    assert np.allclose(np.array(mu_squared) / sum(mu_squared), (0.03, 0.05, 0.92))


def test_noise_is_seeded_and_as_large_as_it_says():
    promise, week = WeeksPromise(0.3, weight_l=10), flat_week()
    one, again, other = (measure(week, promise, (seed, 1)) for seed in (1, 1, 2))
    assert np.array_equal(one.series, again.series)
    assert not np.array_equal(one.series, other.series)
    assert (one.series - week.weighted[10]).std() == pytest.approx(one.sigma, rel=0.05)
    assert abs(one.visits - week.visits) < 5 * one.visits_sigma
    assert one.towers is not None
    assert np.abs(one.towers - week.tower_totals).max() < 5 * one.towers_sigma


def test_an_estimate_has_the_noisy_number_of_visits_and_its_errors_are_those_of_the_filter():
    xy = np.random.default_rng(0).uniform(0, 5000, (12, 2))
    measured = measure(flat_week(), WeeksPromise(5.0), (3,))
    estimate, _ = week_alone(None, measured, xy)
    assert estimate.series.sum() == pytest.approx(measured.visits)
    assert isinstance(estimate, Filtered)
    stated = estimate.scale * estimate.known.standard_error()
    assert np.allclose(estimate.variance_of_sums(np.eye(12), np.eye(168)), stated**2)


def test_the_mean_of_weeks_has_the_noise_of_a_mean():
    xy = np.random.default_rng(0).uniform(0, 5000, (12, 2))
    weeks = [measure(flat_week(), WeeksPromise(1.0), (seed,)) for seed in range(4)]
    *_, last = week_by_week(mean_of_weeks, weeks, xy)
    assert isinstance(last, Filtered)
    assert last.measured.sigma == pytest.approx(weeks[0].sigma / 2)
    assert np.allclose(last.measured.series, np.mean([week.series for week in weeks], axis=0))


class Planted:
    """An estimate whose errors are Gaussian, independent, and as large as it says, times `honest`."""

    def __init__(self, true, sd: float, honest: float = 1.0):
        self.series = true + np.random.default_rng(1).normal(0, sd, true.shape)
        self.variance = (honest * sd) ** 2

    def variance_of_sums(self, areas, hours):
        return self.variance * np.outer((areas**2).sum(axis=1), (hours**2).sum(axis=0))


@pytest.mark.parametrize(("honest", "coverage", "off"), [(1.0, 0.95, 1.0), (0.5, 0.673, 2.0), (2.0, 0.9999, 0.5)])
def test_coverage_of_planted_errors(honest, coverage, off):
    true = np.full((400, 168), 50.0)
    row = score_intervals(Sums(np.eye(400), np.eye(168), np.eye(400)), true, Planted(true, 5.0, honest))
    assert row["coverage"] == pytest.approx(coverage, abs=0.005)
    assert row["off"] == pytest.approx(off, rel=0.02)
    assert row["width"] == pytest.approx(2 * 1.96 * honest * 5 / 50, rel=1e-3)


def test_every_kind_of_sum_covers_planted_errors():
    plan = plan_city("small", "people", 60, 4, 100)
    true = np.full((60, 168), 50.0)
    for name, sums in kinds_of_sums(plan.ground).items():
        assert sums.areas.shape[1] == len(plan.ground.cells), name
        found = [score_intervals(sums, true, Planted(true, 5.0))["coverage"]]
        assert found[0] > 0.85 or name in ("whole week", "city-hours", "district-weeks"), name


def test_sums_are_sums():
    plan = plan_city("small", "people", 60, 4, 100)
    series = np.random.default_rng(2).uniform(0, 9, (60, 168))
    kinds = kinds_of_sums(plan.ground)
    assert kinds["whole week"].of(series).item() == pytest.approx(series.sum())
    for name in ("cells", "cell-days", "districts", "district-days", "district-weeks", "city-hours"):
        assert kinds[name].of(series).sum() == pytest.approx(series.sum())


def test_intervals_hold_their_border_and_have_a_width():
    true, estimate = np.array([10.0, 0.0]), np.array([11.0, 3.0])
    assert coverage(true, estimate, np.array([1.0, 1.0])) == 0.5
    assert interval_width(true, np.array([1.0, 1.0])) == pytest.approx(2 * 1.959964 / 10)


def test_measured_weeks_may_lack_tower_totals():
    assert Measured(np.zeros((2, 168)), 1.0, 0.0, 1.0).towers is None
