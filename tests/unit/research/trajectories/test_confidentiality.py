"""Groups around sensitive places: the promise under the right stop probabilities, and without them."""

import numpy as np
import pytest

from density_assets.errors import BadInput
from density_assets.research.approaches.workload import town
from density_assets.research.traces.matrix import Traces, binary
from density_assets.research.trajectories.confidentiality import (
    P_CONFIDENTIALITY,
    ConfidentialityChoices,
    chances,
    confidential_map,
    neighbouring_places,
    worst_chance,
)

GRID = np.array([(float(x), float(y)) for y in range(4) for x in range(4)])
TOWN = town(people=400, places=20, seed=1)
TWO = ConfidentialityChoices(sensitive=(3, 11), p=0.25)


def test_neighbours_share_a_border_not_a_corner() -> None:
    neighbours = neighbouring_places(GRID)
    assert neighbours[0] == {1, 4}
    assert neighbours[5] == {1, 4, 6, 9}


def test_places_that_coincide_have_no_cells() -> None:
    with pytest.raises(BadInput, match="different positions"):
        neighbouring_places(np.zeros((2, 2)))


def test_groups_keep_the_promise_and_are_connected() -> None:
    groups = confidential_map(GRID, ConfidentialityChoices(sensitive=(0, 15), p=0.25))
    assert worst_chance(groups, np.ones(16)) <= 0.25
    assert np.bincount(groups.label)[groups.label[[0, 15]]].tolist() == [4, 4]
    neighbours = neighbouring_places(GRID)
    for group in groups.label[[0, 15]]:
        members = set(np.flatnonzero(groups.label == group).tolist())
        assert all(neighbours[place] & members for place in members)


def test_popular_neighbours_make_groups_small() -> None:
    stops = np.ones(16)
    stops[1] = 3.0
    chosen = ConfidentialityChoices(sensitive=(0,), p=0.25, stops=tuple(stops))
    groups = confidential_map(GRID, chosen)
    assert np.flatnonzero(groups.label == groups.label[0]).tolist() == [0, 1]


def test_sensitive_neighbours_share_a_group_rather_than_break_the_promise() -> None:
    groups = confidential_map(GRID, ConfidentialityChoices(sensitive=(0, 1, 4, 5), p=0.25))
    assert worst_chance(groups, np.ones(16)) <= 0.25


def test_the_whole_map_may_be_needed() -> None:
    stops = tuple(np.random.default_rng(0).random(16).tolist())
    least = (stops[2] + stops[9]) / sum(stops)
    groups = confidential_map(GRID, ConfidentialityChoices(sensitive=(2, 9), p=least, stops=stops))
    assert groups.label.max() == 0


def test_wrong_probabilities_void_the_promise() -> None:
    groups = confidential_map(GRID, ConfidentialityChoices(sensitive=(0,), p=0.25))
    known_better = np.ones(16)
    known_better[0] = 27.0
    assert worst_chance(groups, known_better) == pytest.approx(0.9)
    town_groups = confidential_map(TOWN.positions, TWO)
    assert chances(town_groups, TOWN.aggregate().sum(axis=1).astype(float)) != pytest.approx(
        chances(town_groups, np.ones(20))
    )


def test_the_grouping_does_not_look_at_the_traces() -> None:
    nobody_else = TOWN.rows(np.arange(1))
    one, all_of_them = (P_CONFIDENTIALITY.publish(found, TWO, 0).facts for found in (nobody_else, TOWN))
    assert one == all_of_them


def test_a_group_shares_its_visits_by_the_public_probabilities() -> None:
    published = P_CONFIDENTIALITY.publish(TOWN, TWO, 0)
    truth, label = TOWN.aggregate(), confidential_map(TOWN.positions, TWO).label
    for group in range(label.max() + 1):
        members = label == group
        expected = np.broadcast_to(truth[members].mean(axis=0), (members.sum(), truth.shape[1]))
        assert published.density[members] == pytest.approx(expected)


def test_published_visits_stay_in_their_group() -> None:
    published = P_CONFIDENTIALITY.publish(TOWN, TWO, 5)
    assert published.traces is not None
    label = confidential_map(TOWN.positions, TWO).label
    by_group = [
        {*zip(u.tolist(), label[r].tolist(), h.tolist(), strict=True)}
        for u, r, h in (TOWN.points(), published.traces.points())
    ]
    assert by_group[0] == by_group[1]
    moved = published.traces.aggregate().sum(axis=1) != TOWN.aggregate().sum(axis=1)
    assert moved.any()
    assert (np.bincount(label)[label[moved]] > 1).all()


def test_what_cannot_be_promised() -> None:
    with pytest.raises(BadInput, match="from 0 to 15; got 16"):
        confidential_map(GRID, ConfidentialityChoices(sensitive=(0, 16)))
    with pytest.raises(BadInput, match="got none"):
        confidential_map(GRID, ConfidentialityChoices(sensitive=()))
    with pytest.raises(BadInput, match=r"at least 0\.125"):
        confidential_map(GRID, ConfidentialityChoices(sensitive=(0, 1), p=0.1))
    with pytest.raises(BadInput, match="16 numbers, one per place"):
        confidential_map(GRID, ConfidentialityChoices(sensitive=(0,), stops=(1.0, 2.0)))
    empty = Traces(binary(np.zeros(0, int), np.zeros(0, int), (2, 48)), np.arange(2), 24, GRID[:2])
    with pytest.raises(BadInput, match="empty traces"):
        P_CONFIDENTIALITY.publish(empty, TWO, 0)
