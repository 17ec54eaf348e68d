"""Parts of the generators on cases that can be worked out by hand."""

import numpy as np
import pytest
from small_crowd import crowd

from density_assets.research.traces.matrix import Traces, binary
from density_assets.research.trajectories.dp_where import anchors, candidates, commute_scores, regions, work_given_home
from density_assets.research.trajectories.markov import chain, walks
from density_assets.research.trajectories.ngrams import (
    Level,
    children,
    continue_paths,
    expand,
    explore,
    generate,
    give_hours,
    gram_counts,
    with_marks,
)
from density_assets.research.trajectories.synthesis import (
    draw_hours,
    draw_outcomes,
    hour_weights,
    keep_visits,
    lengths,
    probabilities,
    profile,
    profile_bin,
)

RNG = np.random.default_rng


def one_person(place, hour, places=12):
    positions = np.stack([np.arange(places) * 1000.0, np.zeros(places)], axis=1)
    matrix = binary(np.zeros(len(place), int), np.array(place) * 168 + np.array(hour), (1, places * 168))
    return Traces(matrix, np.arange(1), 168, positions)


def test_outcomes_follow_the_rows_asked_for():
    table = np.array([[1.0, 0, 0], [0, 0.25, 0.75], [0, 0, 1]])
    row = np.repeat([0, 1, 2, 1], 2_000)
    outcome = draw_outcomes(table, row, RNG(0))
    assert set(outcome[row == 0]) == {0}
    assert set(outcome[row == 2]) == {2}
    assert (outcome[row == 1] == 2).mean() == pytest.approx(0.75, abs=0.03)
    assert 0 not in outcome[row == 1]


def test_negative_counts_have_no_probability():
    assert probabilities(np.array([[-3.0, 1, 3], [-1, -1, -1]])).tolist() == [[0, 0.25, 0.75], [1 / 3] * 3]


def test_hours_are_different_and_as_many_as_wanted():
    person, hour = draw_hours(np.array([1.0, 5, 5, 1e-9]), np.array([0, 2, 4]), RNG(0))
    assert person.tolist() == [1, 1, 2, 2, 2, 2]
    assert hour[2:].tolist() == [0, 1, 2, 3]
    assert hour[0] < hour[1]


def test_what_was_counted_on_weekdays_is_shared_out_between_them():
    weights = hour_weights(np.repeat([5.0, 2.0], 24), 168)
    assert weights == pytest.approx(np.ones(168))
    assert profile_bin(np.array([0, 25, 5 * 24, 6 * 24 + 3])).tolist() == [0, 1, 24, 27]


def test_profiles_add_a_vector_of_norm_one_for_each_person():
    values = profile(one_person([1, 2, 1], [9, 9, 33])).values  # three visits at nine on weekdays
    assert values[9, 0] == 1
    assert values.sum() == 1
    assert profile(one_person([1, 2], [9, 10])).values[9, 0] == pytest.approx(1 / np.sqrt(2))


def test_lengths_are_binned_and_nobody_is_left_out():
    assert lengths(one_person([1] * 5, range(5))).values.tolist() == [0, 0, 0, 1] + [0] * 10  # 4 or 5 visits
    everywhere = np.arange(12 * 168)
    assert lengths(one_person(everywhere // 168, everywhere % 168)).values[-1] == 1


def test_sequences_keep_their_order_in_different_hours():
    user, _, hour = keep_visits(crowd(), 5, 0)
    same = user[1:] == user[:-1]
    assert (hour[1:][same] > hour[:-1][same]).all()
    assert np.bincount(user).max() == 5


def test_home_is_by_night_and_work_by_day():
    traces = one_person([2, 2, 7, 7, 7, 4], [22, 23, 10, 11, 35, 130])
    home, work = anchors(traces, 0)
    assert (home.tolist(), work.tolist()) == ([2], [7])
    home, work = anchors(one_person([4], [130]), 0)  # a Saturday morning only
    assert (home.tolist(), work.tolist()) == ([4], [-1])


def test_the_median_commute_has_the_best_score():
    """Commutes of 1, 2, 2 and 5 km: up to 2 km three are below one, up to 5 km the same, else one or none."""
    line = one_person([0], [0])
    scores = commute_scores(line, np.zeros(5, int), np.array([1, 2, 2, 5, -1]), 1).values[0]
    medians = candidates(line.positions)
    assert set(scores[medians < 1000]) == {4}
    assert set(scores[(medians >= 1000) & (medians < 2000)]) == {2}
    assert set(scores[(medians >= 2000) & (medians < 5000)]) == {2}
    assert set(scores[medians >= 5000]) == {4}


def test_regions_are_a_grid_over_all_places():
    corners = np.array([[0.0, 0], [10, 0], [0, 10], [10, 10], [4.9, 5.1]])
    assert regions(corners, 2).tolist() == [0, 1, 2, 3, 2]
    assert set(regions(np.zeros((3, 2)), 2).tolist()) == {0}


def test_work_is_at_the_distance_that_is_drawn():
    positions = np.stack([np.arange(5) * 1000.0, np.zeros(5)], axis=1)
    near = work_given_home(np.full(5, 0.2), np.full(5, 100.0), positions, 4)
    far = work_given_home(np.full(5, 0.2), np.full(5, 1e6), positions, 4)
    assert near[0, 0] > 0.99
    assert far[0] == pytest.approx([0.25, 0.25, 0.25, 0.125, 0.125], abs=0.01)  # the last ring holds two places
    assert work_given_home(np.array([0, 0, 1.0, 0, 0]), np.full(5, 500.0), positions, 4)[0, 2] == 1


def test_grams_by_hand():
    """0 1 0 of one person and 1 of another: ^ is 2 and & is 3."""
    person, token = with_marks(np.array([0, 0, 0, 1]), np.array([0, 1, 0, 1]), 2)
    assert token.tolist() == [2, 0, 1, 0, 3, 2, 1, 3]
    codes, counts = gram_counts(person, token, 1, 4, 1)
    assert dict(zip(codes.tolist(), counts.tolist(), strict=True)) == {0: 1, 1: 2, 2: 2, 3: 2}
    codes, counts = gram_counts(person, token, 2, 4, 9)
    assert dict(zip(codes.tolist(), counts.tolist(), strict=True)) == {8: 1, 1: 1, 4: 1, 3: 1, 9: 1, 7: 1}


def test_children_are_at_most_their_parents_and_small_ones_are_dropped():
    person, token = with_marks(np.repeat(np.arange(50), 2), np.tile([0, 1], 50), 2)
    too_many = {1: lambda exact: exact, 2: lambda exact: exact * 3 + 1}
    tree = explore(person, token, 4, 2, 1, lambda order, exact: too_many[order](exact), np.array([5.0, 5.0]))
    assert tree[0].counts.tolist() == [[50, 50, 50, 50]]
    assert tree[1].contexts.tolist() == [0, 1, 2]  # the end has no children
    assert tree[1].counts.tolist() == [[0, 50, 0, 0], [0, 0, 0, 50], [50, 0, 0, 0]]


def test_an_unexpanded_gram_is_not_looked_below():
    table = children(np.array([1, 4, 9]), np.array([5.0, 6.0, 7.0]), np.array([0, 2]), 4)
    assert table.tolist() == [[0, 5, 0, 0], [0, 7, 0, 0]]
    contexts, counts = expand(Level(np.array([0, 2]), table), 4)
    assert contexts.tolist() == [1, 9]
    assert counts.tolist() == [5, 7]


def test_paths_go_on_from_the_longest_suffix_that_is_known():
    unigrams = Level(np.array([0]), np.array([[1.0, 0, 1, 1]]))
    bigrams = Level(np.array([1, 2]), np.array([[0, 0, 0, 1.0], [0, 1.0, 0, 0]]))
    tokens = continue_paths([unigrams, bigrams], np.array([[2], [1], [0]]), 2, RNG(0), may_end=True)
    assert tokens[:2].tolist() == [1, 3]
    assert tokens[2] in (0, 3)  # nothing is known after 0 but single tokens
    assert continue_paths([unigrams, bigrams], np.array([[0]]), 2, RNG(0), may_end=False)[0] == 0


def test_generated_sequences_are_walks_through_the_tree():
    unigrams = Level(np.array([0]), np.array([[1.0, 1, 1, 1]]))
    bigrams = Level(np.array([0, 1, 2]), np.array([[0, 1.0, 0, 0], [0, 0, 0, 1.0], [1.0, 0, 0, 0]]))
    person, item = generate([unigrams, bigrams], 2, 3, 10, RNG(0))
    assert person.tolist() == [0, 0, 1, 1, 2, 2]
    assert item.tolist() == [0, 1] * 3


def test_items_get_hours_of_their_block_in_order():
    person, item = np.array([0, 0, 0, 1]), np.array([2, 5, 8, 3])  # places 1, 2, 4, 1 in blocks 0, 1, 0, 1
    who, place, hour = give_hours(person, item, 2, np.ones(168), RNG(0))
    rows = sorted(zip(who.tolist(), (hour % 24 // 12).tolist(), hour.tolist(), place.tolist(), strict=True))
    assert [(p, block, place) for p, block, _, place in rows] == [(0, 0, 1), (0, 0, 4), (0, 1, 2), (1, 1, 1)]


def test_a_block_holds_no_more_items_than_hours():
    who, place, hour = give_hours(np.zeros(20, int), np.zeros(20, int), 24, np.ones(168), RNG(0))
    assert len(who) == len(place) == 7
    assert hour.tolist() == [24 * day for day in range(7)]


def test_a_place_of_which_nothing_is_known_is_left_as_people_start():
    transitions = chain(np.array([[5.0, 1], [-2, 0.5]]), 2.0, np.array([0.1, 0.9]))
    assert transitions.tolist() == [[1, 0], [0.1, 0.9]]


def test_walks_have_the_lengths_wanted_and_follow_the_chain():
    cycle = np.roll(np.eye(3), 1, axis=1)
    places = walks(np.array([1.0, 0, 0]), cycle, np.array([2, 4, 1]), RNG(0))
    assert places.tolist() == [0, 1, 0, 1, 2, 0, 0]


def test_a_lot_for_home_is_no_lot_for_work():
    """With one lot for both, whoever joins in the first row would move the work place of everybody after them."""
    user = np.repeat(np.arange(2_000), 4)
    place, hour = np.tile([0, 1, 0, 1], 2_000), np.tile([1, 2, 10, 11], 2_000)  # both by night, both by day
    matrix = binary(user, place * 168 + hour, (2_000, 2 * 168))
    home, work = anchors(Traces(matrix, np.arange(2_000), 168, np.array([[0.0, 0.0], [5_000.0, 0.0]])), 1)
    for share in (home.mean(), work.mean(), (home == work).mean()):
        assert 0.45 < share < 0.55
