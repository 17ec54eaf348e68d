"""Two counts above a threshold that differ by one person tell where that person was."""

from itertools import combinations

import numpy as np
import pytest

from density_assets.errors import BadInput
from density_assets.research.queries.differencing import (
    NO_PAIR,
    attack_everybody,
    by_place,
    learnt,
    threshold_count,
    unique_pairs,
)
from density_assets.research.traces.commuters import commuters
from density_assets.research.traces.matrix import Traces, binary

HOSPITAL, PARK, BAR = 0, 1, 2


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
    assert learnt(town(), HOSPITAL, john, k=5) is True
    assert learnt(town(), HOSPITAL, mary, k=5) is False
    assert learnt(town(), HOSPITAL, john, k=6) is None  # five are left: withheld


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
    one_by_one = [learnt(traces, place, (a, b), k) for a, b in pairs[pairs[:, 0] != NO_PAIR].tolist()]
    found = attack_everybody(traces, place, k)
    assert found.learnt == len(one_by_one) > 0
    assert found.of_visitors == sum(map(bool, one_by_one))


def test_a_threshold_of_nobody_is_refused():
    with pytest.raises(BadInput, match="at least 1"):
        threshold_count(np.ones(3, bool), 0)
