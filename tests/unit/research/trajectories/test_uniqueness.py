"""Who is singled out, on traces that can be worked out by hand and against a naive count."""

import numpy as np
import pytest

from density_assets.errors import BadInput
from density_assets.research.approaches.workload import town
from density_assets.research.traces.matrix import Traces, binary
from density_assets.research.trajectories import record_attacks as uniqueness
from density_assets.research.trajectories.record_attacks import (
    coarsen,
    known_points,
    matching_records,
    share_singled_out,
    unique_by_points,
    unique_by_top_places,
)


def traces(*records: set[int], rois: int = 3, hours: int = 2) -> Traces:
    pairs = [(row, column) for row, record in enumerate(records) for column in record]
    row, column = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    positions = np.column_stack((np.arange(rois), np.zeros(rois))).astype(float)
    return Traces(binary(row, column, (len(records), rois * hours)), np.arange(len(records)), hours, positions)


def test_two_points_single_out_whom_one_point_does_not() -> None:
    people = traces({0, 1}, {0, 2}, {1, 2})
    assert unique_by_points(people, 1).share == 0.0
    assert unique_by_points(people, 2).share == 1.0


def test_people_with_too_few_points_are_left_out_and_counted() -> None:
    found = unique_by_points(traces({0, 1, 2}, {3}, {0, 1, 4}), 3)
    assert (found.asked, found.left_out, found.share) == (2, 1, 1.0)


def test_matches_are_those_of_a_naive_count() -> None:
    people = town(people=300, places=12, seed=3)
    records = [set(row) for row in np.split(people.matrix.indices, people.matrix.indptr[1:-1])]
    known, _ = known_points(people, 3, seed=1)
    wanted = [set(row) for row in np.split(known.indices, known.indptr[1:-1])]
    naive = [sum(one <= record for record in records) for one in wanted]
    assert matching_records(known, people.matrix, 3).tolist() == naive


def test_slices_do_not_change_the_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    people = town(people=200, places=10, seed=5)
    known, _ = known_points(people, 2, seed=0)
    whole = matching_records(known, people.matrix, 2)
    monkeypatch.setattr(uniqueness, "LARGEST_PRODUCT", 50)
    assert matching_records(known, people.matrix, 2).tolist() == whole.tolist()


def test_known_points_are_points_of_the_person() -> None:
    people = town(people=100, places=10, seed=2)
    known, asked = known_points(people, 2, seed=0)
    assert (np.diff(known.indptr) == 2).all()
    assert known.multiply(people.matrix[np.flatnonzero(asked)]).nnz == known.nnz


def test_published_records_without_the_points_single_nobody_out() -> None:
    people = traces({0, 1}, {0, 2})
    assert share_singled_out(people, traces({3}, {4}), 2).share == 0.0
    assert share_singled_out(people, traces({0, 1, 2}), 2).share == 1.0
    assert share_singled_out(people, traces({0, 1, 2}, {0, 1, 2}), 2).share == 0.0


def test_top_places_ignore_their_order() -> None:
    # Columns are place · 2 + hour: the first two have places 0 and 1 on top, the third 1 and 2.
    people = traces({0, 1, 2}, {0, 2, 3}, {2, 3, 4})
    assert unique_by_top_places(people).share == pytest.approx(1 / 3)


def test_coarser_traces_single_fewer_out() -> None:
    people = town(people=2_000, places=40, seed=1)
    fine = unique_by_points(people, 3).share
    assert unique_by_points(coarsen(people, hours=24), 3).share < fine
    assert unique_by_points(coarsen(people, np.arange(40) // 10), 3).share < fine


def test_more_points_single_more_people_out() -> None:
    people = town(people=2_000, places=40, seed=1)
    shares = [unique_by_points(people, p).share for p in range(1, 7)]
    assert shares == sorted(shares)
    assert shares[3] > 0.9
    assert unique_by_points(people, 3, seed=4) == unique_by_points(people, 3, seed=4)


def test_what_cannot_be_asked() -> None:
    people = traces({0, 1})
    for empty in (unique_by_points, unique_by_top_places):
        with pytest.raises(BadInput, match="empty traces"):
            empty(traces(set(), set()), 2)
    with pytest.raises(BadInput, match="at least one point, got p = 0"):
        unique_by_points(people, 0)
    with pytest.raises(BadInput, match="same places and hours"):
        share_singled_out(people, coarsen(people, hours=2), 1)
