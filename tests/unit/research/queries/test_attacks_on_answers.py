"""Attacks on answers: noisy counts give bits back; large counts that differ by one person tell of that person."""

from itertools import combinations

import numpy as np
import pytest
from scipy.linalg import hadamard

from density_assets.errors import BadInput
from density_assets.privacy.composition import spent
from density_assets.privacy.events import Gaussian
from density_assets.research.queries.attacks_on_answers import (
    NO_PAIR,
    attack_everybody,
    bits_from_counts,
    by_place,
    hadamard_attack,
    hadamard_subsets,
    learn_of_visit,
    least_absolute_errors,
    private_ratio,
    program_attack,
    random_subsets,
    recovery_curve,
    round_bits,
    share_right,
    threshold_count,
    unique_pairs,
    walsh_hadamard,
)
from density_assets.research.traces.commuters import commuters
from density_assets.research.traces.matrix import Traces, binary

HOSPITAL, PARK, BAR = 0, 1, 2


def bits(count, seed=0):
    return np.random.default_rng(seed).integers(0, 2, count)


@pytest.mark.parametrize(("attack", "count", "falls"), [(hadamard_attack, 2**15, 0.152), (program_attack, 96, 0.24)])
def test_bits_are_recovered_below_a_noise_and_lost_above(attack, count, falls):
    """95 % of the bits are right up to noise/√n of about `falls`."""
    data, ratios = bits(count), np.array([0.3, 0.9, 1.15, 8]) * falls
    few, below, above, many = shares = recovery_curve(attack, data, ratios, seed=1)
    assert few > below > 0.93
    assert above < 0.96
    assert many < 0.75
    assert np.array_equal(shares, recovery_curve(attack, data, ratios, seed=1))


def test_private_noise_lies_beyond_the_knee():
    assert np.linalg.norm(hadamard_subsets(64), axis=0).max() == 8  # √n: how far one bit moves all counts
    ratio = private_ratio(1.0, 1e-7)
    assert spent([Gaussian("counts", ratio * 8, 8.0)], 1e-7).epsilon < 1.0
    assert recovery_curve(hadamard_attack, bits(2**14), [ratio], seed=0)[0] < 0.55
    assert private_ratio(0.3, 1e-7) > ratio > private_ratio(5.0, 1e-7)


def test_the_fast_transform_is_the_hadamard_matrix():
    values = np.random.default_rng(0).normal(size=16)
    assert np.allclose(walsh_hadamard(values), hadamard(16) @ values)
    assert np.array_equal(hadamard_subsets(16), hadamard(16) > 0)


def test_exact_counts_give_every_bit():
    for data in (bits(64), 1 - bits(64)):
        assert np.array_equal(bits_from_counts(hadamard_subsets(64) @ data), data)


@pytest.mark.parametrize("seed", range(10))
def test_wrong_bits_are_within_the_bound_whatever_the_errors(seed):
    rng = np.random.default_rng(seed)
    data, size = bits(64, seed), rng.choice([0.3, 1.0, 2.0])
    errors = rng.choice([rng.normal(0, size, 64), size * rng.choice([-1, 1], 64), np.eye(64)[rng.integers(64)] * 30])
    wrong = (bits_from_counts(hadamard_subsets(64) @ data + errors) != data).sum()
    signed = 2 * errors - errors[0]
    assert wrong <= 4 * (signed**2).sum() / 64
    assert wrong <= 1 + 16 * (errors**2).sum() / 64


def test_the_sum_of_absolute_errors_bears_answers_that_are_lies():
    data, rows = bits(96, 6), random_subsets(96, 6 * 96, seed=6)
    rng = np.random.default_rng(7)
    lies = rng.random(len(rows)) < 0.1
    answers = np.where(lies, rng.integers(0, 97, len(rows)), rows @ data)
    assert share_right(round_bits(least_absolute_errors(rows, answers)), data) == 1.0


def test_no_other_solution_has_a_smaller_sum_of_errors():
    data, rows = bits(30, 8), random_subsets(30, 90, seed=8)
    answers = rows @ data + np.random.default_rng(9).normal(0, 3, 90)
    x = least_absolute_errors(rows, answers)
    best = np.abs(rows @ x - answers).sum()
    nearby = np.clip(x + np.random.default_rng(10).normal(0, 0.02, (200, 30)), 0, 1)
    assert best <= np.abs(nearby @ rows.T - answers).sum(axis=1).min() + 1e-6


def test_unusable_answers_are_refused():
    rows = random_subsets(8, 16, seed=0)
    with pytest.raises(BadInput, match="one answer per query"):
        least_absolute_errors(rows, np.ones(3))
    with pytest.raises(BadInput, match="finite"):
        least_absolute_errors(rows | True, np.full(16, np.nan))
    with pytest.raises(BadInput, match="power of two"):
        bits_from_counts(np.ones(6))


def town() -> Traces:
    """Six people at the hospital, of whom John (0) alone also was in park and bar; Mary (6) was in park and bar of
    another hour and not at the hospital.
    """
    user = np.array([0, 1, 2, 3, 4, 5, 0, 0, 6, 6])
    place = np.array([HOSPITAL] * 6 + [PARK, BAR, PARK, BAR])
    hour = np.array([0, 0, 1, 1, 0, 1, 0, 1, 1, 0])
    return Traces(binary(user, place * 2 + hour, (7, 6)), np.arange(7), 2, np.zeros((3, 2)))


def test_both_counts_pass_the_threshold_and_their_difference_is_john():
    john, mary = (PARK * 2 + 0, BAR * 2 + 1), (PARK * 2 + 1, BAR * 2 + 0)
    assert learn_of_visit(town(), HOSPITAL, john, k=5) is True
    assert learn_of_visit(town(), HOSPITAL, mary, k=5) is False
    assert learn_of_visit(town(), HOSPITAL, john, k=6) is None  # five are left: withheld


def test_everybody_with_a_pair_is_attacked():
    found = attack_everybody(town(), HOSPITAL, k=5)
    assert (found.people, found.visitors, found.pairs, found.learnt) == (7, 6, 2, 2)
    assert (found.of_visitors, found.wrong) == (1, 0)
    assert attack_everybody(town(), HOSPITAL, k=7).learnt == 0


def test_places_without_hours_single_out_fewer():
    assert attack_everybody(town(), HOSPITAL, k=5, places_only=True).pairs == 0  # John and Mary share both places


@pytest.mark.parametrize("hours", [True, False])
def test_pairs_are_unique_and_none_is_overlooked(hours):
    user, point = np.random.default_rng(2).integers(0, [[40], [80]], (2, 150))
    people = Traces(binary(user, point, (40, 80)), np.arange(40), 4, np.zeros((20, 2)))
    traces = people if hours else by_place(people)
    dense, pairs = traces.matrix.toarray(), unique_pairs(traces)
    for user, (one, other) in enumerate(pairs):
        if one != NO_PAIR:
            assert np.flatnonzero(dense[:, one] & dense[:, other]).tolist() == [user]
        else:
            points = np.flatnonzero(dense[user])
            assert all((dense[:, a] & dense[:, b]).sum() > 1 for a, b in combinations(points, 2))
    assert 0 < (pairs[:, 0] != NO_PAIR).sum() < 40


def test_findings_by_counts_agree_with_those_of_the_whole_attack():
    traces = commuters(60, 1, seed=3, rows=3, columns=3)
    place, k = int(traces.aggregate().sum(axis=1).argmax()), 5
    pairs = unique_pairs(traces, range(place * traces.hours, (place + 1) * traces.hours))
    one_by_one = [learn_of_visit(traces, place, (a, b), k) for a, b in pairs[pairs[:, 0] != NO_PAIR].tolist()]
    found = attack_everybody(traces, place, k)
    assert found.learnt == len(one_by_one) > 0
    assert found.of_visitors == sum(map(bool, one_by_one))


def test_a_threshold_of_nobody_is_refused():
    with pytest.raises(BadInput, match="at least 1"):
        threshold_count(np.ones(3, bool), 0)
