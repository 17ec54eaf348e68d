"""Exact answers under an auditor: audits agree with all boolean data sets, and denials tell what they hide."""

import numpy as np
import pytest

from density_assets.errors import BadInput
from density_assets.research.approaches.workload import town
from density_assets.research.queries.audited_answers import (
    AUDITED_ANSWERS,
    AuditedParameters,
    NaiveAuditor,
    audit_online,
    audit_ranges,
    bits_from_denials,
    denied_sums,
    disclosed_by_ranges,
    range_facts,
    users_in_a_row,
)
from density_assets.research.queries.disclosure import OPEN, checked_answers, disclosed_bits, query_rows, was_at
from density_assets.research.traces.matrix import Traces, binary

TOWN = town(people=300, places=60, seed=3)


def consistent(rows, answers):
    """All data sets with these answers, one row each."""
    everything = (np.arange(2 ** rows.shape[1])[:, None] >> np.arange(rows.shape[1])) & 1
    return everything[(answers == (rows @ everything.T).T).all(axis=1)].astype(bool)


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
        audit_ranges(6, [0, 0], [6, 3], [2, 3])


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
    past, answers = [], []
    for a, b in zip(first, last, strict=True):
        count = int(data[a:b].sum())
        audit = audit_ranges(len(data), *zip(*past, (a, b, count), strict=True))
        denied = (disclosed_by_ranges(audit) != OPEN).any()
        answers.append(None if denied else count)
        past += [] if denied else [(a, b, count)]
    return answers


@pytest.mark.parametrize("seed", range(20))
def test_online_ranges_are_denied_exactly_if_their_answer_would_disclose(seed):
    rng = np.random.default_rng(seed)
    bits = int(rng.integers(2, 40))
    data = rng.integers(0, 2, bits)
    first, last = random_ranges(rng, bits, 50)
    answers = audit_online(data, first, last)
    assert answers == audited_by_components(data, first, last)


def test_online_answers_are_true_and_disclose_nothing_by_themselves():
    rng = np.random.default_rng(4)
    data = rng.integers(0, 2, 60)
    first, last = random_ranges(rng, 60, 200)
    answers = audit_online(data, first, last)
    given = [number for number, answer in enumerate(answers) if answer is not None]
    assert 0 < len(given) < 200
    counts = [answers[number] for number in given]
    assert np.array_equal(range_rows(first[given], last[given], 60) @ data, counts)
    assert (disclosed_by_ranges(audit_ranges(60, first[given], last[given], counts)) == OPEN).all()


def test_online_ranges_outside_the_data_are_refused():
    with pytest.raises(BadInput, match=r"within \[0, 3\).*\(2, 4\)"):
        audit_online(np.array([0, 1, 0]), np.array([2]), np.array([4]))


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


def test_answers_and_denials_together_are_the_counts():
    published = AUDITED_ANSWERS.publish(TOWN, AuditedParameters(), 1)
    np.testing.assert_array_equal(published.density, TOWN.aggregate())
    assert published.facts["denied"] == (TOWN.aggregate() == 0).sum()


def test_users_in_a_row_are_those_of_the_busiest_place():
    busiest = int(TOWN.aggregate().sum(axis=1).argmax())
    user, place, _ = TOWN.points()
    assert users_in_a_row(TOWN).sum() == len(np.unique(user[place == busiest]))


def test_more_ranges_disclose_more_and_the_auditor_denies_them():
    few, many = range_facts(TOWN, 20, 1), range_facts(TOWN, 2_000, 1)
    assert few["disclosed_by_ranges"] < 0.9 < many["disclosed_by_ranges"]
    assert few["ranges_denied"] < many["ranges_denied"]


def test_denials_tell_all_that_they_hide():
    shares = [range_facts(TOWN, 1, seed)["learnt_from_denials"] for seed in range(5)]
    assert set(shares) <= {0.0, 1.0}  # all or nothing: an attack that cannot decide says so
    assert 1.0 in shares


def test_traces_without_visits_are_refused():
    with pytest.raises(BadInput, match=r"without any|got none"):
        AUDITED_ANSWERS.publish(TOWN.rows(np.arange(0)), AuditedParameters(), 1)


def test_a_predicate_says_who_was_there():
    """Anna at place 0 in hours 0 and 1, Ben at place 1 in hour 1, Cleo at both places in hour 3."""
    user, place, hour = np.array([0, 0, 1, 2, 2]), np.array([0, 0, 1, 0, 1]), np.array([0, 1, 1, 3, 3])
    traces = Traces(binary(user, place * 4 + hour, (3, 8)), np.arange(3), 4, np.zeros((2, 2)))
    assert was_at(traces, [0], [1]).tolist() == [True, False, False]
    assert was_at(traces, [1]).tolist() == [False, True, True]
    for places, hours, said in (
        ([2], [0], "places.*0 to 1.*got 2"),
        ([0], [4, -1], "hours.*0 to 3.*got -1, 4"),
        ([], [0], "at least one of the 2"),
    ):
        with pytest.raises(BadInput, match=said):
            was_at(traces, places, hours)


def test_rows_say_which_bits_each_query_covers():
    rows = query_rows([np.array([2, 0]), np.array([1])], 3)
    assert rows.toarray().tolist() == [[1, 0, 1], [0, 1, 0]]


@pytest.mark.parametrize("answers", [[3], [-1], [0.5], [1, 1]])
def test_impossible_answers_are_refused(answers):
    with pytest.raises(BadInput, match="answer"):
        checked_answers(query_rows([np.array([0, 1])], 3), answers)


# --- an auditor of real-valued sums that does not look at data -----------------------------------------------------


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
