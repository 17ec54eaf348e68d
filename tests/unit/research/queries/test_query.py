"""Queries cover the bits they name, and unknown places, hours, people or answers are refused."""

import numpy as np
import pytest

from density_assets.errors import BadInput
from density_assets.research.queries.query import (
    Cube,
    checked_answers,
    cube_of,
    query_bits,
    query_rows,
    true_answer,
    was_at,
)
from density_assets.research.traces.matrix import Traces, binary

CUBE = Cube(users=3, places=2, hours=4)
EVERYBODY = np.ones(3, dtype=bool)


def three_people() -> Traces:
    """Anna at place 0 in hours 0 and 1, Ben at place 1 in hour 1, Cleo at both places in hour 3."""
    user, place, hour = np.array([0, 0, 1, 2, 2]), np.array([0, 0, 1, 0, 1]), np.array([0, 1, 1, 3, 3])
    return Traces(binary(user, place * 4 + hour, (3, 8)), np.arange(3), 4, np.zeros((2, 2)))


def test_a_query_covers_people_places_and_hours():
    bits = query_bits(CUBE, np.array([True, False, True]), places=[1], hours=[0, 3])
    assert bits.tolist() == [4, 7, 20, 23]


def test_answers_are_sums_of_bits():
    traces = three_people()
    everything = query_bits(cube_of(traces), EVERYBODY, [0, 1], range(4))
    assert true_answer(traces, everything) == 5
    assert true_answer(traces, query_bits(cube_of(traces), was_at(traces, [1]), [0], range(4))) == 1  # Cleo's
    assert was_at(traces, [0], [1]).tolist() == [True, False, False]


def test_rows_say_which_bits_each_query_covers():
    rows = query_rows([np.array([2, 0]), np.array([1])], 3)
    assert rows.toarray().tolist() == [[1, 0, 1], [0, 1, 0]]


@pytest.mark.parametrize(
    ("places", "hours", "said"),
    [
        ([2], [0], "places.*0 to 1.*got 2"),
        ([0], [4, -1], "hours.*0 to 3.*got -1, 4"),
        ([], [0], "at least one of the 2"),
    ],
)
def test_unknown_or_no_places_and_hours_are_refused(places, hours, said):
    with pytest.raises(BadInput, match=said):
        query_bits(CUBE, EVERYBODY, places, hours)


def test_predicates_of_nobody_or_of_other_people_are_refused():
    with pytest.raises(BadInput, match="nobody satisfies"):
        query_bits(CUBE, ~EVERYBODY, [0], [0])
    with pytest.raises(BadInput, match="each of 3 users"):
        query_bits(CUBE, np.ones(4, dtype=bool), [0], [0])


@pytest.mark.parametrize("answers", [[3], [-1], [0.5], [1, 1]])
def test_impossible_answers_are_refused(answers):
    with pytest.raises(BadInput, match="answer"):
        checked_answers(query_rows([np.array([0, 1])], 3), answers)
