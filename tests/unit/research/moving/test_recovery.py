"""The recovery attack: exact where trajectories cannot be confused, and defeated by noise."""

import numpy as np
import pytest
from scipy.stats import entropy

from density_assets.research.moving.recovery_attack import (
    countable,
    information_gain,
    link_day,
    overlap,
    recover,
    score,
)
from density_assets.schemes.moving.windows import histograms

LINE = np.column_stack([np.arange(100) * 100.0, np.zeros(100)])  # a hundred places along a road
NIGHT = np.array([True, True, False, False, True])


def counts(paths):
    return histograms(paths, len(LINE)).astype(np.int64)


def test_people_far_apart_are_recovered_exactly_over_two_days():
    first = np.array([[5, 5, 6, 7, 5], [40, 40, 42, 44, 40], [80, 80, 80, 80, 80]])
    second = np.array([[80, 80, 80, 80, 80], [5, 5, 6, 7, 5], [40, 40, 42, 44, 40]])
    found = recover([counts(first), counts(second)], LINE, NIGHT)
    truth = np.hstack([first, second[[1, 2, 0]]])
    assert sorted(found.tolist()) == sorted(truth.tolist())
    assert score(truth, found, LINE) == (1.0, 0.0)


def test_by_day_people_keep_their_velocity_and_at_night_they_rest():
    crossing = np.array([[10, 20, 30], [30, 20, 10]])
    by_day = link_day(counts(crossing), LINE, np.array([True, False, False]))
    assert sorted(by_day.tolist()) == sorted(crossing.tolist())
    resting = np.array([[10, 12, 10], [20, 19, 20]])
    at_night = link_day(counts(resting), LINE, np.ones(3, dtype=bool))
    assert sorted(at_night.tolist()) == sorted(resting.tolist())


def test_information_gain_is_that_of_the_definition():
    random = np.random.default_rng(0)
    left, right = random.integers(0, 6, (5, 4)), random.integers(0, 6, (5, 9))
    gain = information_gain(left, right, 6)
    for i, one in enumerate(left):
        for j, other in enumerate(right):
            a, b = np.bincount(one, minlength=6), np.bincount(other, minlength=6)
            assert gain[i, j] == pytest.approx(entropy(a + b) - (entropy(a) + entropy(b)) / 2)


def test_scores_match_trajectories_whatever_their_order():
    truth = np.array([[1, 1, 1, 1], [9, 9, 9, 9]])
    assert score(truth, truth[::-1], LINE) == (1.0, 0.0)
    wrong = np.array([[9, 9, 9, 7], [1, 1, 3, 1]])
    assert score(truth, wrong, LINE) == (0.75, pytest.approx((200 + 200) / 8))


def test_scores_may_forgive_some_metres():
    truth = np.array([[1, 1, 1, 1], [9, 9, 9, 9]])
    beside = np.array([[10, 10, 10, 12], [2, 2, 2, 2]])  # 100 m from somebody, once 300 m
    assert [score(truth, beside, LINE, within)[0] for within in (0.0, 99.0, 100.0, 300.0)] == [0, 0, 7 / 8, 1]


def test_no_more_points_can_be_right_than_counts_hold():
    truth = np.array([[0, 0], [0, 1], [2, 3]])
    seen = np.array(
        [[2, 0, 0, 1], [0, 0, 0, 3]]
    )  # at the first stamp two of three are counted where they are, then one
    assert overlap(truth, seen) == pytest.approx((2 + 1) / 6)
    random = np.random.default_rng(0)
    for _ in range(20):
        paths, others = random.integers(0, 8, (2, 12, 6))
        held = overlap(paths, histograms(others, 8).astype(np.int64))
        assert score(paths, others, LINE)[0] <= held < 1
    assert overlap(paths, histograms(paths, 8).astype(np.int64)) == 1


def test_noise_hides_people():
    random = np.random.default_rng(1)
    truth = np.repeat(random.choice(100, 30, replace=False)[:, None], 5, axis=1)
    exact = counts(truth)
    assert score(truth, link_day(exact, LINE, NIGHT), LINE)[0] == 1.0
    noisy = countable(exact + random.laplace(0, 50, exact.shape), 30, random)
    assert noisy.sum(axis=1).tolist() == [30] * 5
    assert score(truth, link_day(noisy, LINE, NIGHT), LINE)[0] < 0.5


def test_stamps_with_other_totals_are_refused():
    with pytest.raises(ValueError, match="every stamp must count the same people, got totals from 1 to 2"):
        link_day(np.array([[1, 1], [1, 0]]), LINE[:2], np.ones(2, dtype=bool))
