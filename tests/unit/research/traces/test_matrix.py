"""Traces as a sparse matrix: the same numbers as the dense one, at a size where a dense one does not fit."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from density_assets.research.traces import matrix
from density_assets.research.traces.commuters import commuters
from density_assets.research.traces.matrix import Traces, binary, group_sums


def tiny() -> Traces:
    """Two users, two ROIs, two weeks: ann at ROI 0 in hour 3 of both weeks, bob at ROI 1 in hour 170."""
    points = np.array([(0, 0, 3), (0, 0, 171), (1, 1, 170), (1, 1, 170)])
    column = points[:, 1] * 336 + points[:, 2]
    return Traces(binary(points[:, 0], column, (2, 672)), np.array(["ann", "bob"]), 336, np.zeros((2, 2)))


def test_repeated_points_count_once_and_weeks_are_cut_out():
    traces = tiny()
    assert traces.matrix.sum() == 3
    assert [part.tolist() for part in traces.week(1).points()] == [[0, 1], [0, 1], [3, 2]]
    assert traces.week(0).users.tolist() == ["ann", "bob"]
    with pytest.raises(ValueError, match="one of the 2"):
        traces.week(2)


def test_the_aggregate_counts_users_per_roi_and_hour():
    counts = tiny().aggregate()
    assert counts.shape == (2, 336)
    assert np.argwhere(counts).tolist() == [[0, 3], [0, 171], [1, 170]]


@pytest.mark.parametrize("dense_below", [0, 10**9])
def test_sums_of_groups_are_those_of_the_dense_matrix(monkeypatch, dense_below):
    monkeypatch.setattr(matrix, "DENSE_IS_FASTER", dense_below)
    traces = commuters(40, 1, seed=3, rows=4, columns=4)
    members = csr_array(np.random.default_rng(0).integers(0, 2, (7, 40)).astype(np.int32))
    dense = np.array([traces.matrix.toarray()[row > 0].sum(axis=0) for row in members.toarray()])
    assert np.array_equal(group_sums(members, traces.matrix), dense)


def test_ten_thousand_users_of_582_stations_over_four_weeks_fit():
    rng = np.random.default_rng(1)
    user = np.repeat(np.arange(10_000), 170)
    column = rng.integers(0, 582 * 672, len(user))
    traces = Traces(binary(user, column, (10_000, 582 * 672)), np.arange(10_000), 672, np.zeros((582, 2)))
    assert traces.matrix.data.nbytes + traces.matrix.indices.nbytes < 40e6
    members = csr_array(rng.permuted(np.tile(np.arange(10_000) < 9_500, (3, 1)), axis=1).astype(np.int32))
    week = traces.week(3)
    sums = group_sums(members, week.matrix)
    assert sums.shape == (3, 582 * 168)
    assert sums[0].sum() == np.diff(week.matrix.indptr)[members.toarray()[0] > 0].sum()


def test_commuters_are_seeded_and_uneven():
    first, again = commuters(50, 2, seed=5), commuters(50, 2, seed=5)
    assert (first.matrix != again.matrix).nnz == 0
    assert (first.matrix != commuters(50, 2, seed=6).matrix).nnz > 0
    points = np.diff(first.matrix.indptr)
    assert points.max() > 3 * np.median(points)
