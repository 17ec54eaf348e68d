"""Bounds recomputed by hand: what a correct table always passes and a planted fault never does."""

from density_assets.quality.user_bounds import (
    capped,
    clamped_total,
    tower_weighted_total,
    tower_weights_bounded,
    weighted_total,
    weights_bounded,
)


def test_a_cap_is_kept_up_to_l_visits_in_different_hours():
    assert capped({(1, 1): 10, (30, 30): 2}, visits_per_user=30)
    assert capped({}, visits_per_user=30)
    assert not capped({(1, 1): 10, (31, 31): 1}, visits_per_user=30)
    assert not capped({(2, 1): 1}, visits_per_user=30)  # two visits in one hour


def test_weights_are_one_until_a_user_has_more_visits_than_weight_l():
    one = 2**16
    assert weighted_total({1: 3, 2: 1}, weight_l=4) == 5 * one
    assert weighted_total({16: 1}, weight_l=4) == 16 * one // 2  # sqrt(4 / 16) is a half
    assert weighted_total({}, weight_l=4) == 0


def test_the_norm_of_every_user_is_bounded_exactly():
    assert weights_bounded(dict.fromkeys(range(1, 5_000), 1), weight_l=20)


def test_totals_of_towers_weigh_by_squares():
    one = 2**16
    assert tower_weighted_total({(3, 5): 2}, tower_l=16) == 6 * one  # within the norm: whole visits
    assert tower_weighted_total({(16, 64): 1}, tower_l=16) == 16 * one // 2  # sqrt(16 / 64) is a half
    assert tower_weighted_total({}, tower_l=16) == 0
    assert tower_weights_bounded({(n, n * n): 1 for n in range(1, 5_000)}, tower_l=400)


def test_a_total_counts_nobody_more_often_than_the_clamp():
    assert clamped_total({3: 2, 1_000: 1}, visits_clamp=732) == 2 * 3 + 732
