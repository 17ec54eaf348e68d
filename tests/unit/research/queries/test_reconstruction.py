"""Noisy counts give the bits back while noise is small beside the root of their number, and not beyond."""

import numpy as np
import pytest
from scipy.linalg import hadamard

from density_assets.errors import BadInput
from density_assets.privacy.accounting import spent
from density_assets.privacy.events import Gaussian
from density_assets.research.queries.hadamard import (
    bits_from_counts,
    hadamard_attack,
    hadamard_subsets,
    knee,
    private_ratio,
    program_attack,
    recovery_curve,
    walsh_hadamard,
)
from density_assets.research.queries.reconstruction import (
    least_absolute_errors,
    least_largest_error,
    random_subsets,
    rounded,
    share_right,
)

RATIOS = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)


def bits(count, seed=0):
    return np.random.default_rng(seed).integers(0, 2, count)


@pytest.mark.parametrize(("attack", "count"), [(hadamard_attack, 1024), (program_attack, 96)])
def test_bits_are_recovered_below_the_knee_and_lost_above(attack, count):
    data = bits(count)
    shares = recovery_curve(attack, data, RATIOS, seed=1)
    at = knee(RATIOS, shares)
    assert 0.1 < at < 0.6
    assert all(share > 0.95 for ratio, share in zip(RATIOS, shares, strict=True) if ratio < 0.9 * at)
    assert recovery_curve(attack, data, [8 * at], seed=2)[0] < 0.75
    assert np.array_equal(shares, recovery_curve(attack, data, RATIOS, seed=1))


def test_the_knee_of_hadamard_queries_is_where_theory_puts_it():
    ratios = np.arange(0.1, 0.2, 0.01)
    assert knee(ratios, recovery_curve(hadamard_attack, bits(2**15), ratios, seed=3)) == pytest.approx(0.152, abs=0.01)


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


def test_bounded_errors_are_undone():
    data, rows = bits(96, 4), random_subsets(96, 4 * 96, seed=4)
    bound = 0.2 * np.sqrt(96)
    answers = rows @ data + np.random.default_rng(5).uniform(-bound, bound, len(rows))
    x = least_largest_error(rows, answers, bound)
    assert np.abs(rows @ x - answers).max() <= bound + 1e-6
    assert share_right(rounded(x), data) > 0.95
    with pytest.raises(BadInput, match="errors must be at most"):
        least_largest_error(rows, answers, bound / 20)


def test_the_sum_of_absolute_errors_bears_answers_that_are_lies():
    data, rows = bits(96, 6), random_subsets(96, 6 * 96, seed=6)
    rng = np.random.default_rng(7)
    lies = rng.random(len(rows)) < 0.1
    answers = np.where(lies, rng.integers(0, 97, len(rows)), rows @ data)
    assert share_right(rounded(least_absolute_errors(rows, answers)), data) == 1.0


def test_no_other_solution_has_a_smaller_sum_of_errors():
    data, rows = bits(30, 8), random_subsets(30, 90, seed=8)
    answers = rows @ data + np.random.default_rng(9).normal(0, 3, 90)
    x = least_absolute_errors(rows, answers)
    best = np.abs(rows @ x - answers).sum()
    nearby = np.clip(x + np.random.default_rng(10).normal(0, 0.02, (200, 30)), 0, 1)
    assert best <= np.abs(nearby @ rows.T - answers).sum(axis=1).min() + 1e-6


def test_knees_at_the_ends():
    assert knee([1, 2], [0.99, 0.98]) == float("inf")
    assert knee([1, 2], [0.9, 0.8]) == 0
    assert knee([1, 2], [1.0, 0.9]) == pytest.approx(1.5)


def test_unusable_answers_are_refused():
    rows = random_subsets(8, 16, seed=0)
    with pytest.raises(BadInput, match="one answer per query"):
        least_absolute_errors(rows, np.ones(3))
    with pytest.raises(BadInput, match="finite"):
        least_absolute_errors(rows | True, np.full(16, np.nan))
    with pytest.raises(BadInput, match="power of two"):
        bits_from_counts(np.ones(6))
