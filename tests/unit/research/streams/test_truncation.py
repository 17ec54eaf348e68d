"""What one user can change: within the stated bounds with truncation, and beyond them without."""

import numpy as np
import pytest

from density_assets.errors import BadInput
from density_assets.research.streams.publishing import clamped_visits
from density_assets.research.streams.truncation import truncated


def change(before, after):
    return np.abs(after.aggregate().astype(float) - before.aggregate())


def within(difference, visits_per_hour, hours_per_user):
    """At most one at a place and hour, c in an hour, and in at most a hours."""
    per_hour = difference.sum(axis=0)
    return difference.max() <= 1 and per_hour.max() <= visits_per_hour and (per_hour > 0).sum() <= hours_per_user


@pytest.mark.parametrize(("visits_per_hour", "hours_per_user"), [(1, 1), (1, 10), (3, 7), (12, 168)])
@pytest.mark.parametrize("seed", range(3))
def test_a_heavy_user_changes_no_more_than_stated(traces, with_heavy_user, visits_per_hour, hours_per_user, seed):
    counted = np.ones(traces.hours, bool)
    kept = [truncated(each, visits_per_hour, hours_per_user, counted, seed) for each in (traces, with_heavy_user)]
    difference = change(*kept)
    assert within(difference, visits_per_hour, hours_per_user)
    assert difference.sum() == visits_per_hour * hours_per_user  # the bound is reached: nobody else changed


def test_without_truncation_the_same_check_fails(traces, with_heavy_user):
    assert not within(change(traces, with_heavy_user), 12, 10)
    assert not within(change(traces, with_heavy_user), 1, 168)


def test_everybody_keeps_as_much_as_they_may(traces):
    kept = truncated(traces, 1, 5, np.ones(traces.hours, bool), 0)
    user, _, hour = traces.points()
    hours_seen = np.array([len(set(hour[user == each])) for each in range(len(traces.users))])
    assert np.array_equal(np.diff(kept.matrix.indptr), np.minimum(hours_seen, 5))
    assert not (kept.matrix - kept.matrix.multiply(traces.matrix)).nnz  # and nothing is invented


def test_visits_are_not_wasted_on_hours_that_are_not_published(traces):
    counted = np.arange(traces.hours) % 6 == 0
    kept = truncated(traces, 1, 2, counted, 0)
    assert set(kept.points()[2] % 6) == {0}
    user, _, hour = traces.points()
    seen = [min(2, len(set(hour[(user == each) & counted[hour]]))) for each in range(len(traces.users))]
    assert kept.matrix.nnz == sum(seen)


def test_distances_and_sums_of_places_move_as_stated(traces, with_heavy_user):
    counted = np.ones(traces.hours, bool)
    before, after = (truncated(each, 3, 9, counted, 1).aggregate() for each in (traces, with_heavy_user))
    known = np.random.default_rng(0).uniform(0, 9, (traces.rois, 1))
    distances = np.abs(before - known).mean(axis=0), np.abs(after - known).mean(axis=0)
    assert np.abs(distances[1] - distances[0]).max() <= 3 / traces.rois + 1e-6
    groups = np.eye(4)[np.arange(traces.rois) % 4].T
    assert np.linalg.norm(groups @ (after - before), axis=0).max() <= 3


def test_the_number_of_visits_is_clamped_for_each_user(traces, with_heavy_user):
    assert clamped_visits(with_heavy_user, 20)[0] - clamped_visits(traces, 20)[0] == 20
    assert with_heavy_user.matrix.nnz - traces.matrix.nnz > 20


def test_traces_without_a_visit_are_refused(empty):
    with pytest.raises(BadInput, match="at least one visit"):
        truncated(empty, 1, 1, np.ones(empty.hours, bool), 0)
