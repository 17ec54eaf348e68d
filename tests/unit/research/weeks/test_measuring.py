"""Noise costs what is promised, estimators pass weeks on, and coverage is what it should be on planted errors."""

import numpy as np
import pytest

from density_assets.estimation.weeks.state import Measured
from density_assets.privacy.composition import spent
from density_assets.research.weeks.cities import planned
from density_assets.research.weeks.counting import WeekCounts, WeeksPromise, measure, queries
from density_assets.research.weeks.estimators import Filtered, held, mean_of_weeks, week_alone, week_by_week, width
from density_assets.research.weeks.sums_study import Sums, judged, kinds_of_sums


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
    row = judged(Sums(np.eye(400), np.eye(168), np.eye(400)), true, Planted(true, 5.0, honest))
    assert row["coverage"] == pytest.approx(coverage, abs=0.005)
    assert row["off"] == pytest.approx(off, rel=0.02)
    assert row["width"] == pytest.approx(2 * 1.96 * honest * 5 / 50, rel=1e-3)


def test_every_kind_of_sum_covers_planted_errors():
    plan = planned("small", "people", 60, 4, 100)
    true = np.full((60, 168), 50.0)
    for name, sums in kinds_of_sums(plan.ground).items():
        assert sums.areas.shape[1] == len(plan.ground.cells), name
        found = [judged(sums, true, Planted(true, 5.0))["coverage"]]
        assert found[0] > 0.85 or name in ("whole week", "city-hours", "district-weeks"), name


def test_sums_are_sums():
    plan = planned("small", "people", 60, 4, 100)
    series = np.random.default_rng(2).uniform(0, 9, (60, 168))
    kinds = kinds_of_sums(plan.ground)
    assert kinds["whole week"].of(series).item() == pytest.approx(series.sum())
    for name in ("cells", "cell-days", "districts", "district-days", "district-weeks", "city-hours"):
        assert kinds[name].of(series).sum() == pytest.approx(series.sum())


def test_intervals_hold_their_border_and_have_a_width():
    true, estimate = np.array([10.0, 0.0]), np.array([11.0, 3.0])
    assert held(true, estimate, np.array([1.0, 1.0])) == 0.5
    assert width(true, np.array([1.0, 1.0])) == pytest.approx(2 * 1.959964 / 10)


def test_measured_weeks_may_lack_tower_totals():
    assert Measured(np.zeros((2, 168)), 1.0, 0.0, 1.0).towers is None
