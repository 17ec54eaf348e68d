"""Bounds on what one user can move hold for every week such a user can have, and only if weeks are truncated."""

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array
from small_crowd import counts, kept

from density_assets.errors import BadInput
from density_assets.research.queries.workload import (
    curve_position,
    districts,
    every_place_and_hour,
    hilbert_order,
    partition,
    partition_sensitivity,
    rectangles,
    workload_sensitivity,
)
from density_assets.research.traces.commuters import commuters

PLACES, HOURS = 3, 4
SLACK = 1 + 2e-6


def all_weeks(visits):
    """All 0/1 vectors over (place, hour) with at most one place per hour and so many visits."""
    weeks = []
    for where in product(range(-1, PLACES), repeat=HOURS):  # -1: nowhere
        chosen = np.array(where)
        if (chosen >= 0).sum() <= visits:
            weeks.append((chosen == np.arange(PLACES)[:, None]).ravel())
    return np.array(weeks, float)


def largest_move(workload, visits):
    """How far one user can move all answers, by trying every week."""
    return np.sqrt(((workload @ all_weeks(visits).T) ** 2).sum(axis=0)).max()


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("visits", [1, 2, 4])
def test_the_bound_holds_for_every_week(seed, visits):
    rng = np.random.default_rng(seed)
    entries = (rng.random((6, PLACES * HOURS)) < 0.3) * rng.choice([1.0, -1.0, 0.5], (6, PLACES * HOURS))
    entries[0, 0] = 1
    workload = csr_array(entries)
    bound, moved = workload_sensitivity(workload, HOURS, visits), largest_move(workload, visits)
    assert moved <= bound
    norms = np.sort(np.linalg.norm(entries, axis=0).reshape(PLACES, HOURS).max(axis=0))[::-1]
    assert bound <= norms[:visits].sum() * SLACK  # never worse than adding up columns


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_sparse_and_dense_products_give_the_same_bound(share, monkeypatch):
    positions = np.random.default_rng(0).random((20, 2))
    workload = rectangles(positions, 24, 15, seed=3)
    expected = workload_sensitivity(workload, 24, 5)
    monkeypatch.setattr("density_assets.research.queries.workload.DENSE_IS_FASTER", share)
    assert workload_sensitivity(workload, 24, 5) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("visits", [1, 2, 3, 4])
def test_the_bound_is_exact_where_queries_are_disjoint(visits):
    place, hour = np.arange(PLACES), np.arange(HOURS)
    for workload, expected in (
        (every_place_and_hour(PLACES, HOURS), np.sqrt(visits)),
        (partition(place, hour * 0), visits),  # weeks of places
        (partition(place * 0, hour), np.sqrt(visits)),  # totals of hours
    ):
        assert workload_sensitivity(workload, HOURS, visits) == pytest.approx(expected, rel=1e-5)
        assert largest_move(workload, visits) == pytest.approx(expected)


@pytest.mark.parametrize("of_hour", [[0, 0, 0, 0], [0, 1, 2, 3], [0, 0, 0, 1], [0, 1, 1, 0]])
@pytest.mark.parametrize("visits", [1, 2, 3, 4])
def test_partitions_have_an_exact_sensitivity(of_hour, visits):
    workload = partition(np.array([0, 0, 1]), np.array(of_hour))
    assert partition_sensitivity(np.array(of_hour), visits) == pytest.approx(largest_move(workload, visits), rel=1e-5)
    assert partition_sensitivity(np.array(of_hour), visits) <= workload_sensitivity(workload, HOURS, visits) * SLACK


@pytest.fixture(scope="module")
def people():
    return commuters(30, 1, seed=1, rows=3, columns=3)


def moves(traces, workload):
    """How far each user moves all answers: neighbours differ by a row."""
    return [
        np.linalg.norm(workload @ (counts(traces) - counts(traces.rows(np.arange(30) != user)))) for user in range(30)
    ]


def test_neighbours_stay_within_the_bound_only_if_truncated(people):
    workload = rectangles(people.positions, people.hours, 40, seed=2)
    bound = workload_sensitivity(workload, people.hours, 10)
    assert max(moves(kept(people, 10, 3), workload)) <= bound
    assert max(moves(people, workload)) > bound  # the planted bug: nothing is truncated
    assert max(moves(kept(people, 40, 3), workload)) > bound  # or too much is kept


def test_districts_share_places_evenly_and_lie_together():
    xy = np.array([(x, y) for x in range(4) for y in range(4)], float)
    label = districts(xy, 4)
    assert np.bincount(label).tolist() == [4, 4, 4, 4]
    assert all(np.ptp(xy[label == one], axis=0).tolist() == [1, 1] for one in range(4))
    with pytest.raises(BadInput, match="1 to the 16 places, got 17"):
        districts(xy, 17)


def test_rectangles_cover_places_between_corners_and_hours_between_ends():
    xy = np.array([(x, y) for x in range(3) for y in range(3)], float)
    for row in rectangles(xy, 5, 20, seed=1).toarray().reshape(20, 9, 5):
        inside, during = np.flatnonzero(row.any(axis=1)), np.flatnonzero(row.any(axis=0))
        box = ((xy >= xy[inside].min(axis=0)) & (xy <= xy[inside].max(axis=0))).all(axis=1)
        assert np.array_equal(np.flatnonzero(box), inside)
        assert np.array_equal(during, np.arange(during[0], during[-1] + 1))
        assert row.sum() == len(inside) * len(during)


def test_workloads_of_other_hours_are_refused():
    with pytest.raises(BadInput, match="places times 5 hours, got 12"):
        workload_sensitivity(every_place_and_hour(PLACES, HOURS), 5, 2)


@pytest.mark.parametrize("levels", [1, 2, 5])
def test_the_curve_visits_every_cell_once_in_steps_of_one(levels):
    x, y = (axis.ravel() for axis in np.meshgrid(np.arange(2**levels), np.arange(2**levels)))
    position = curve_position(x, y, levels)
    assert sorted(position) == list(range(4**levels))
    order = np.argsort(position)
    steps = np.abs(np.diff(x[order])) + np.abs(np.diff(y[order]))
    assert (steps == 1).all()


def test_places_of_a_grid_follow_the_curve():
    xy = np.array([[0, 0], [100, 0], [100, 100], [0, 100]], dtype=float)
    assert hilbert_order(xy).tolist() == [0, 3, 2, 1]


def test_places_without_coordinates_are_refused():
    with pytest.raises(BadInput, match="two finite coordinates"):
        hilbert_order(np.array([[0.0, np.nan]]))
