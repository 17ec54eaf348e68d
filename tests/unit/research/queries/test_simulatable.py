"""Denials of an auditor who looks at the truth give the data away; auditors who do not look are sound."""

import numpy as np
import pytest

from density_assets.errors import BadInput
from density_assets.research.queries.full_disclosure import OPEN, disclosed_bits
from density_assets.research.queries.query import query_rows
from density_assets.research.queries.simulatable import (
    NaiveAuditor,
    bits_from_denials,
    denied_booleans,
    denied_sums,
)


@pytest.mark.parametrize("seed", range(5))
def test_denials_give_all_bits_though_answers_disclose_none(seed):
    data = np.random.default_rng(seed).integers(0, 2, 24)
    auditor = NaiveAuditor.of(data)
    assert np.array_equal(bits_from_denials(auditor.ask, 24), data)
    answers_only = disclosed_bits(query_rows(auditor.asked, 24), auditor.answers)
    assert (answers_only == OPEN).all()


def test_the_attack_says_when_it_does_not_know():
    assert bits_from_denials(NaiveAuditor.of(np.ones(6, np.int64)).ask, 6) is None
    assert bits_from_denials(NaiveAuditor.of(np.array([0, 1, 0, 1])).ask, 4) is None


def test_denials_that_ignore_data_are_the_same_for_all_data():
    # The decisions are a function of the queries alone: the attack sees the same transcript of denials for any data.
    queries = [np.array([bit, bit + 1]) for bit in range(5)]
    assert not denied_sums(queries, 6).any()
    assert denied_sums([*queries, np.array([0, 2])], 6)[-1]


def spans_a_unit(rows):
    rank = np.linalg.matrix_rank(rows)
    return any(np.linalg.matrix_rank(np.vstack([rows, unit])) == rank for unit in np.eye(rows.shape[1]))


@pytest.mark.parametrize("seed", range(25))
def test_sums_are_denied_exactly_if_a_number_would_follow(seed):
    rng = np.random.default_rng(seed)
    bits = 7
    queries = [np.sort(rng.choice(bits, rng.integers(1, 6), replace=False)) for _ in range(12)]
    answered = np.zeros((0, bits))
    for query, denied in zip(queries, denied_sums(queries, bits), strict=True):
        row = query_rows([query], bits).toarray()
        assert denied == spans_a_unit(np.vstack([answered, row]))
        answered = answered if denied else np.vstack([answered, row])
    assert len(answered)


def test_a_sum_that_follows_from_the_past_is_answered():
    queries = [np.array([0, 1]), np.array([2, 3]), np.array([0, 1, 2, 3]), np.array([1])]
    assert denied_sums(queries, 4).tolist() == [False, False, False, True]


def test_the_test_for_real_numbers_is_not_enough_for_booleans():
    query = np.array([0, 1, 2])
    assert not denied_sums([query], 4).any()
    assert disclosed_bits(query_rows([query], 4), [0]).tolist() == [0, 0, 0, OPEN]


@pytest.mark.parametrize("size", [1, 3, 6])
def test_the_sound_auditor_of_booleans_denies_every_first_query(size):
    assert denied_booleans(query_rows([], 6), np.zeros(0, np.int64), np.arange(size))


def test_the_sound_auditor_of_booleans_answers_what_follows():
    rows = query_rows([np.array([0, 1]), np.array([2, 3])], 5)
    assert not denied_booleans(rows, np.array([1, 1]), np.arange(4))
    assert denied_booleans(rows, np.array([1, 1]), np.array([0, 2]))


def test_impossible_pasts_are_refused():
    rows = query_rows([np.array([0, 1]), np.array([0, 1])], 3)
    with pytest.raises(BadInput, match="none satisfies"):
        denied_booleans(rows, np.array([1, 2]), np.array([2]))
