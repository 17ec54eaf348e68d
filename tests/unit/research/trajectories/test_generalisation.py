"""k-anonymous records: alike in groups of k, true to the original, counted to a density."""

from collections import Counter

import numpy as np
import pytest
from generalised_records import is_k_anonymous, named_hierarchy

from density_assets.errors import BadInput
from density_assets.research.approaches.workload import town
from density_assets.research.traces.matrix import Traces, binary
from density_assets.research.trajectories.generalisation import (
    K_ANONYMITY,
    GeneralisationChoices,
    Generalised,
    balance_parts,
    count_records,
    generalise,
    item_hierarchy,
    item_traces,
    k_anonymous,
    scale_to_totals,
)
from density_assets.research.trajectories.record_attacks import share_singled_out_of_records

TOWN = town(people=600, places=12, seed=4)
FIVE = GeneralisationChoices(k=5, parts_of_day=2)


@pytest.mark.parametrize("k", [2, 5, 40])
def test_every_record_is_there_k_times(k: int) -> None:
    records = generalise(TOWN, GeneralisationChoices(k=k, parts_of_day=2))
    assert min(Counter(records.named()).values()) >= k
    assert is_k_anonymous(records.nodes, k)


def test_one_record_of_its_own_is_noticed() -> None:
    same = binary(np.array([0, 1, 2, 2]), np.array([0, 0, 0, 1]), (3, 2))
    assert not is_k_anonymous(same, 2)
    assert is_k_anonymous(same[:2], 2)


def test_records_stand_for_their_person_and_for_nothing_beside() -> None:
    records, items = generalise(TOWN, FIVE), item_traces(TOWN, 2)
    for row in range(0, 600, 37):
        visited = set(items.matrix.indices[items.matrix.indptr[row] : items.matrix.indptr[row + 1]].tolist())
        nodes = records.nodes.indices[records.nodes.indptr[row] : records.nodes.indptr[row + 1]]
        covered = [set(records.hierarchy.leaves_of(int(node)).tolist()) for node in nodes]
        assert visited <= set().union(*covered)
        assert all(visited & one for one in covered)


def test_a_smaller_k_is_more_precise() -> None:
    precise = [K_ANONYMITY.publish(TOWN, GeneralisationChoices(k=k), 0).facts["median_items_covered"] for k in (2, 50)]
    assert precise[0] < precise[1]


def test_a_rest_that_is_too_small_takes_what_it_lacks() -> None:
    parts, rest = balance_parts([np.arange(5), np.array([7])], 2)
    assert [part.tolist() for part in parts] == [[1, 2, 3, 4]]
    assert rest.tolist() == [7, 0]
    parts, rest = balance_parts([np.arange(2), np.array([7])], 2)
    assert (len(parts), sorted(rest.tolist())) == (0, [0, 1, 7])


def test_nobody_is_singled_out_of_k_anonymous_records() -> None:
    people = town(people=600, places=60, seed=4)
    own, tree = item_traces(people, 4), item_hierarchy(people.positions, 4)
    precise = Generalised(binary(*own.matrix.nonzero(), (600, tree.nodes)), own.users, tree)
    assert share_singled_out_of_records(people, precise, 4, 4).share > 0.5
    five = generalise(people, GeneralisationChoices(k=5, parts_of_day=4))
    assert share_singled_out_of_records(people, five, 4, 4).share == 0.0


def test_a_generalised_item_is_spread_evenly_over_its_places_and_hours() -> None:
    tree = named_hierarchy(("all", (("west", ("a", "b")), "c")))
    records = Generalised(binary(np.array([0, 1]), np.array([3, 2]), (2, 5)), np.arange(2), tree)
    original = Traces(binary(np.array([0, 1]), np.array([0, 50]), (2, 72)), np.arange(2), 24, np.eye(3)[:, :2])
    density = count_records(records, original, 1, "none")
    assert density[:, 0].tolist() == pytest.approx([0.5 / 24, 0.5 / 24, 1 / 24])
    assert (density == density[:, :1]).all()


def test_totals_are_those_of_the_original() -> None:
    truth = TOWN.aggregate().astype(float)
    flat = np.ones_like(truth)
    assert scale_to_totals(flat, TOWN, "week").sum() == pytest.approx(truth.sum())
    assert scale_to_totals(flat, TOWN, "hour").sum(axis=0) == pytest.approx(truth.sum(axis=0))
    published = K_ANONYMITY.publish(TOWN, FIVE, 0)
    assert published.density.sum(axis=0) == pytest.approx(truth.sum(axis=0))


def test_what_cannot_be_published() -> None:
    empty = Traces(binary(np.zeros(0, int), np.zeros(0, int), (2, 24)), np.arange(2), 24, np.zeros((1, 2)))
    with pytest.raises(BadInput, match="empty traces"):
        K_ANONYMITY.publish(empty, FIVE, 0)
    with pytest.raises(BadInput, match="at least k records, got 600 for k = 601"):
        K_ANONYMITY.publish(TOWN, GeneralisationChoices(k=601), 0)
    with pytest.raises(BadInput, match="divide the 24 hours"):
        item_traces(TOWN, 5)


def test_people_without_points_are_left_out() -> None:
    matrix = binary(np.array([0, 2]), np.array([0, 0]), (3, 24))
    records = generalise(Traces(matrix, np.array([7, 8, 9]), 24, np.zeros((1, 2))), GeneralisationChoices(k=2))
    assert records.users.tolist() == [7, 9]


def test_k_of_one_publishes_the_records_themselves() -> None:
    items, tree = item_traces(TOWN, 2), item_hierarchy(TOWN.positions, 2)
    published = k_anonymous(items.matrix, tree, 1)
    assert (published[:, : tree.leaves] != items.matrix).nnz == 0
    assert published[:, tree.leaves :].nnz == 0
