"""Contributions in NumPy against the models of `dbt_like_sql/` on the same visits, and against what they promise."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.sparse import csr_array
from small_crowd import HEAVY, crowd, joined, nobody

from density_assets.errors import BadInput
from density_assets.privacy.sensitivity import WEIGHT_UNIT
from density_assets.research import contributions
from density_assets.research.contributions import (
    CountedWeek,
    at_hours,
    bound_week,
    clamped_total,
    integer_weights,
    keep_rows,
    rank_within,
    require_visits,
    scale_to_total,
    squares_over_places,
    truncate,
    visits_of_users,
)
from density_assets.research.promise.town import TOWERS_COUNT, town
from density_assets.research.promise.town import count_by_sql as counted
from density_assets.research.traces.matrix import Traces, binary
from density_assets.settings import Settings

HOURS, L, CLAMP, WEIGHT_L, TOWER_L = 168, 9, 40, 7, 60
LIMITS = {"visits_per_user": L, "visits_clamp": CLAMP}
SETTINGS = Settings.model_validate({"privacy": LIMITS, "scheme": {"weight_l": WEIGHT_L, "tower_l": TOWER_L}})


@dataclass(frozen=True)
class TwoCounts:
    traces: Traces
    by_sql: CountedWeek
    by_numpy: CountedWeek


@pytest.fixture(scope="module")
def two_counts(tmp_path_factory) -> TwoCounts:
    """Random users, from one visit to several hundred, some of them at many towers in the same hour."""
    random = np.random.default_rng(5)
    number = np.concatenate([random.integers(1, 60, 60), random.integers(200, 900, 15), [1, 2, L, L + 1]])
    user = np.repeat(np.arange(len(number)), number)
    hour = random.integers(0, HOURS, len(user))
    hour[user % 5 == 0] %= 6  # crowded hours
    tower = (user + random.geometric(0.3, len(user))) % TOWERS_COUNT
    matrix = binary(user, tower * HOURS + hour, (len(number), TOWERS_COUNT * HOURS))
    towers, places = town()
    traces = Traces(matrix, np.arange(len(number)), HOURS, towers.xy)
    people = {each: [] for each in range(len(number))}
    for person, place, time in zip(*(column.tolist() for column in traces.points()), strict=True):
        people[person].append((time, place))
    parameters = {**LIMITS, "weight_l": WEIGHT_L, "tower_l": TOWER_L}
    by_sql = counted(tmp_path_factory.mktemp("sql"), towers, places, people, parameters)
    return TwoCounts(traces, by_sql, bound_week(traces, SETTINGS, np.random.default_rng(0)).count_everybody(places))


def test_weights_totals_and_clamp_equal_the_sql(two_counts):
    by_sql, by_numpy = two_counts.by_sql, two_counts.by_numpy
    assert np.array_equal(by_numpy.weighted, by_sql.weighted)
    assert np.array_equal(by_numpy.tower_totals, by_sql.tower_totals)
    assert by_numpy.visit_total == by_sql.visit_total < two_counts.traces.matrix.nnz
    assert len(np.unique(by_sql.weighted)) > 100  # many weights below one


def test_truncation_keeps_as_many_visits_as_the_sql(two_counts):
    assert two_counts.by_numpy.truncated.sum() == two_counts.by_sql.truncated.sum()
    assert two_counts.by_numpy.sampled.sum() == two_counts.by_sql.sampled.sum() == len(two_counts.traces.users)


def test_truncation_is_distributed_as_in_the_sql(two_counts):
    """Both draw visits with the same probabilities: a mean of many draws is near the one draw of the SQL."""
    rng = np.random.default_rng(1)
    parts = [bound_week(two_counts.traces, SETTINGS, rng) for _ in range(200)]
    for name, one in (("truncated", two_counts.by_sql.truncated), ("sampled", two_counts.by_sql.sampled)):
        draws = np.array([np.asarray(getattr(part, name).sum(axis=0)).ravel() for part in parts])
        by_tower = draws.reshape(len(draws), TOWERS_COUNT, -1).sum(axis=2)
        deviations = (one.reshape(TOWERS_COUNT, -1).sum(axis=1) - by_tower.mean(axis=0)) / by_tower.std(axis=0)
        assert np.abs(deviations).max() < 4.5


def test_groups_add_up_to_everybody(two_counts):
    traces, week = two_counts.traces, two_counts.by_numpy
    parts = bound_week(traces, SETTINGS, np.random.default_rng(0))
    half = np.arange(len(traces.users)) % 2
    members = csr_array(np.stack([half, 1 - half]).astype(np.int32))
    for towers, series in ((True, week.weighted), (False, week.truncated)):
        groups = parts.count_groups(members, towers=towers)
        assert np.array_equal(sum(group.series for group in groups), series)
        assert np.array_equal(sum(group.sampled for group in groups), week.sampled)
        assert np.array_equal(sum(group.tower_totals for group in groups), week.tower_totals)
        assert sum(group.visit_total for group in groups) == week.visit_total


@pytest.mark.parametrize("bound", [1, 20, 400, 8760])
def test_weights_keep_their_norm_exactly(bound):
    squares = np.concatenate([np.arange(1, 5_000), np.array([168 * 168, 10**6, 2 * 10**9])])
    weights = integer_weights(squares, bound)
    assert all(w * w * s <= bound * WEIGHT_UNIT**2 for w, s in zip(weights.tolist(), squares.tolist(), strict=True))
    more = weights + 1  # no larger weight would do
    for w, s in zip(more[weights < WEIGHT_UNIT].tolist(), squares[weights < WEIGHT_UNIT].tolist(), strict=True):
        assert w * w > bound * WEIGHT_UNIT**2 // s
    assert integer_weights(np.array([0]), bound)[0] == WEIGHT_UNIT


def test_ranks_and_squares_by_hand():
    group = np.array([7, 3, 7, 3, 7, 0])
    assert rank_within(group).tolist() == [0, 0, 1, 1, 2, 0]
    assert rank_within(group, np.array([0.3, 0.9, 0.1, 0.2, 0.2, 0.5])).tolist() == [2, 1, 0, 0, 1, 0]
    assert rank_within(np.array([], dtype=np.int64)).tolist() == []
    assert squares_over_places(np.array([0, 0, 0, 2]), np.array([4, 4, 1, 0]), 4).tolist() == [5, 0, 1, 0]
    assert clamped_total(np.array([0, 3, 50]), 10) == 13


def change(before: Traces, after: Traces) -> np.ndarray:
    return np.abs(after.aggregate().astype(float) - before.aggregate())


def within(difference: np.ndarray, visits_per_hour: int, hours_per_user: int) -> bool:
    """At most one at a place and hour, c in an hour, and in at most a hours."""
    per_hour = difference.sum(axis=0)
    return difference.max() <= 1 and per_hour.max() <= visits_per_hour and (per_hour > 0).sum() <= hours_per_user


def two_generators(seed: int) -> tuple[np.random.Generator, np.random.Generator]:
    return np.random.default_rng([seed, 1]), np.random.default_rng([seed, 2])


@pytest.mark.parametrize(("visits_per_hour", "hours_per_user"), [(1, 1), (1, 10), (3, 7), (12, 168)])
@pytest.mark.parametrize("seed", range(3))
def test_a_heavy_user_changes_no_more_than_stated(visits_per_hour, hours_per_user, seed):
    pair = crowd(), joined(crowd(), *HEAVY["everywhere"])
    assert not within(change(*pair), visits_per_hour, hours_per_user) or hours_per_user == HOURS
    kept = [truncate(each, hours_per_user, *two_generators(seed), visits_per_hour=visits_per_hour) for each in pair]
    difference = change(*kept)
    assert within(difference, visits_per_hour, hours_per_user)
    assert difference.sum() == visits_per_hour * hours_per_user  # the bound is reached: nobody else changed


def test_everybody_keeps_as_much_as_they_may():
    traces = crowd()
    kept = truncate(traces, 5, np.random.default_rng(0))
    user, _, hour = traces.points()
    hours_seen = np.array([len(set(hour[user == each])) for each in range(len(traces.users))])
    assert np.array_equal(visits_of_users(kept), np.minimum(hours_seen, 5))
    assert not (kept.matrix - kept.matrix.multiply(traces.matrix)).nnz  # and nothing is invented
    all_hours = truncate(traces, None, np.random.default_rng(0))
    assert np.array_equal(visits_of_users(all_hours), hours_seen)


def test_rows_are_drawn_uniformly():
    """A user with two visits in one hour and one in each of two others: 1/3 · 1/2 and 1/3 of one draw."""
    user, hour = np.zeros(4, dtype=np.int64), np.array([1, 1, 2, 3])
    rng = np.random.default_rng(3)
    times = np.bincount(np.concatenate([keep_rows(user, hour, 1, rng) for _ in range(12_000)]), minlength=4)
    assert times == pytest.approx([2_000, 2_000, 4_000, 4_000], abs=250)


def test_visits_are_not_wasted_on_hours_left_out():
    traces, published = crowd(), np.arange(HOURS) % 6 == 0
    kept = truncate(at_hours(traces, published), 2, np.random.default_rng(0))
    user, _, hour = traces.points()
    seen = [min(2, len(set(hour[(user == each) & published[hour]]))) for each in range(len(traces.users))]
    assert set(kept.points()[2] % 6) == {0}
    assert kept.matrix.nnz == sum(seen)


def test_a_bound_that_is_not_kept_would_be_found(two_counts, monkeypatch):
    """Planted: weights by visits where squares over towers are due."""
    monkeypatch.setattr(contributions, "squares_over_places", lambda user, place, users: np.bincount(user))
    places = two_counts.by_sql.places
    wrong = bound_week(two_counts.traces, SETTINGS, np.random.default_rng(0)).count_everybody(places)
    assert not np.array_equal(wrong.tower_totals, two_counts.by_sql.tower_totals)


def test_distances_and_sums_of_places_move_as_stated():
    pair = crowd(), joined(crowd(), *HEAVY["everywhere"])
    before, after = (truncate(each, 9, *two_generators(1), visits_per_hour=3).aggregate() for each in pair)
    known = np.random.default_rng(0).uniform(0, 9, (len(before), 1))
    distances = np.abs(before - known).mean(axis=0), np.abs(after - known).mean(axis=0)
    assert np.abs(distances[1] - distances[0]).max() <= 3 / len(before) + 1e-6
    groups = np.eye(4)[np.arange(len(before)) % 4].T
    assert np.linalg.norm(groups @ (after - before), axis=0).max() <= 3


def test_one_user_moves_the_total_by_at_most_the_clamp():
    pair = [visits_of_users(each) for each in (crowd(), joined(crowd(), *HEAVY["everywhere"]))]
    assert clamped_total(pair[1], 20) - clamped_total(pair[0], 20) == 20
    assert pair[1].sum() - pair[0].sum() > 20


def test_scaling_spreads_evenly_what_has_no_shape():
    assert np.array_equal(scale_to_total(np.zeros((2, 2)), 8.0), np.full((2, 2), 2.0))
    assert scale_to_total(np.eye(2), -3.0).sum() == 0
    assert scale_to_total(np.array([1.0, 3.0]), 8.0).tolist() == [2.0, 6.0]


def test_unusable_traces_and_limits_are_refused():
    with pytest.raises(BadInput, match="at least one visit"):
        require_visits(nobody(crowd()))
    with pytest.raises(BadInput, match="at least one visit"):
        truncate(crowd(), 0, np.random.default_rng(0))
