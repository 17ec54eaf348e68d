"""Audits agree with a look at every boolean data set, in general, for ranges, and range by range."""

import numpy as np
import pytest

from density_assets.errors import BadInput
from density_assets.research.queries.full_disclosure import OPEN, consistent, disclosed_bits
from density_assets.research.queries.online_ranges import audited_online
from density_assets.research.queries.query import query_rows
from density_assets.research.queries.ranges import (
    audit_ranges,
    disclosed_by_ranges,
    nothing_asked,
    possible_answers,
    with_answer,
)


def by_enumeration(rows, answers):
    """The values all consistent data sets agree on, by listing them."""
    data = consistent(rows, answers)
    return np.where(data.all(axis=0), 1, np.where((~data).all(axis=0), 0, OPEN))


def random_queries(rng, bits):
    share = rng.choice([0.2, 0.5])
    sets = [np.flatnonzero(rng.random(bits) < share) for _ in range(rng.integers(1, bits))]
    return query_rows([one for one in sets if len(one)], bits)


def random_ranges(rng, bits, count):
    ends = np.array([np.sort(rng.choice(bits + 1, 2, replace=False)) for _ in range(count)])
    return ends[:, 0], ends[:, 1]


def range_rows(first, last, bits):
    return query_rows([np.arange(a, b) for a, b in zip(first, last, strict=True)], bits)


@pytest.mark.parametrize("seed", range(60))
def test_the_general_audit_agrees_with_all_data_sets(seed):
    rng = np.random.default_rng(seed)
    bits = int(rng.integers(2, 13))
    rows = random_queries(rng, bits)
    answers = rows @ rng.integers(0, 2, bits)
    assert np.array_equal(disclosed_bits(rows, answers), by_enumeration(rows, answers))


@pytest.mark.parametrize("seed", range(60))
def test_the_audit_of_ranges_agrees_with_all_data_sets(seed):
    rng = np.random.default_rng(seed)
    bits = int(rng.integers(2, 13))
    first, last = random_ranges(rng, bits, int(rng.integers(1, 2 * bits)))
    truth = np.concatenate([[0], np.cumsum(rng.integers(0, 2, bits))])
    counts = truth[last] - truth[first]
    rows, audit = range_rows(first, last, bits), audit_ranges(bits, first, last, counts)
    expected = by_enumeration(rows, counts)
    assert np.array_equal(rows @ np.diff(audit.sums), counts)
    assert np.array_equal(disclosed_by_ranges(audit), expected)
    assert np.array_equal(disclosed_bits(rows, counts), expected)


@pytest.mark.parametrize("seed", range(20))
def test_ranges_added_one_by_one_disclose_the_same(seed):
    rng = np.random.default_rng(seed)
    bits, audit = 40, nothing_asked(40)
    first, last = random_ranges(rng, bits, 30)
    truth = np.concatenate([[0], np.cumsum(rng.integers(0, 2, bits))])
    for number, (a, b) in enumerate(zip(first, last, strict=True)):
        audit = with_answer(audit, a, b, truth[b] - truth[a])
        done = slice(number + 1)
        at_once = audit_ranges(bits, first[done], last[done], (truth[last] - truth[first])[done])
        assert np.array_equal(disclosed_by_ranges(audit), disclosed_by_ranges(at_once))


@pytest.mark.parametrize("seed", range(20))
def test_possible_answers_are_those_of_all_data_sets(seed):
    rng = np.random.default_rng(seed)
    bits = 10
    first, last = random_ranges(rng, bits, 4)
    truth = np.concatenate([[0], np.cumsum(rng.integers(0, 2, bits))])
    counts = truth[last] - truth[first]
    audit, data = audit_ranges(bits, first, last, counts), consistent(range_rows(first, last, bits), counts)
    for a, b in zip(*random_ranges(rng, bits, 5), strict=True):
        answers = np.unique(data[:, a:b].sum(axis=1))
        assert possible_answers(audit, a, b) == (answers.min(), answers.max())
        assert len(answers) == answers.max() - answers.min() + 1


def test_a_bit_fixed_by_overlapping_ranges_is_disclosed_though_no_range_is_full():
    # x0+x1 = 1 and x1+x2 = 1 leave all open; x0+x1+x2 = 1 then leaves only 010.
    rows = query_rows([np.array([0, 1]), np.array([1, 2])], 3)
    assert disclosed_bits(rows, [1, 1]).tolist() == [OPEN] * 3
    rows = query_rows([np.array([0, 1]), np.array([1, 2]), np.array([0, 1, 2])], 3)
    assert disclosed_bits(rows, [1, 1, 1]).tolist() == [0, 1, 0]


def test_a_fraction_is_not_evidence():
    # An odd cycle: only fractions have x0+x1 = x1+x2 = x0+x2 = 1. The relaxation is a point and no data set exists.
    rows = query_rows([np.array([0, 1]), np.array([1, 2]), np.array([0, 2])], 3)
    with pytest.raises(BadInput, match="no boolean data"):
        disclosed_bits(rows, [1, 1, 1])


def test_unsatisfiable_ranges_are_refused():
    with pytest.raises(BadInput, match="no boolean data"):
        audit_ranges(6, [0, 2, 0], [3, 6, 6], [3, 4, 5])
    with pytest.raises(BadInput, match="no boolean data"):
        with_answer(audit_ranges(6, [0], [6], [2]), 0, 3, 3)


@pytest.mark.parametrize(("first", "last", "count"), [(0, 7, 1), (-1, 2, 1), (3, 3, 0), (0, 2, 3), (0, 2, -1)])
def test_ranges_outside_the_data_are_refused(first, last, count):
    with pytest.raises(BadInput, match="must"):
        audit_ranges(6, [first], [last], [count])


def test_the_general_audit_reaches_hundreds_of_bits():
    rng = np.random.default_rng(3)
    data = (rng.random(400) < 0.3).astype(int)
    rows = query_rows([rng.choice(400, 3, replace=False) for _ in range(150)], 400)
    values = disclosed_bits(rows, rows @ data)
    known = values != OPEN
    assert np.array_equal(values[known], data[known])
    assert 0 < known.sum() < 400


def audited_by_components(data, first, last):
    """The same decisions the slow way: a full audit with each answer that is new."""
    audit, answers = nothing_asked(len(data)), []
    for a, b in zip(first, last, strict=True):
        count = int(data[a:b].sum())
        asked = with_answer(audit, a, b, count)
        denied = (disclosed_by_ranges(asked) != OPEN).any()
        answers.append(None if denied else count)
        audit = audit if denied else asked
    return answers


@pytest.mark.parametrize("seed", range(20))
def test_online_ranges_are_denied_exactly_if_their_answer_would_disclose(seed):
    rng = np.random.default_rng(seed)
    bits = int(rng.integers(2, 40))
    data = rng.integers(0, 2, bits)
    first, last = random_ranges(rng, bits, 50)
    answers = audited_online(data, first, last)
    assert answers == audited_by_components(data, first, last)


def test_online_answers_are_true_and_disclose_nothing_by_themselves():
    rng = np.random.default_rng(4)
    data = rng.integers(0, 2, 60)
    first, last = random_ranges(rng, 60, 200)
    answers = audited_online(data, first, last)
    given = [number for number, answer in enumerate(answers) if answer is not None]
    assert 0 < len(given) < 200
    counts = [answers[number] for number in given]
    assert np.array_equal(range_rows(first[given], last[given], 60) @ data, counts)
    assert (disclosed_by_ranges(audit_ranges(60, first[given], last[given], counts)) == OPEN).all()


def test_online_ranges_outside_the_data_are_refused():
    with pytest.raises(BadInput, match=r"within \[0, 3\).*\(2, 4\)"):
        audited_online(np.array([0, 1, 0]), np.array([2]), np.array([4]))
