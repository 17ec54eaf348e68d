"""Exact answers under an auditor: what ranges disclose, what is denied, what denials tell."""

import numpy as np
import pytest

from density_assets.errors import BadInput
from density_assets.research.approaches.town import town
from density_assets.research.queries.audited import AUDITED_ANSWERS, AuditedParameters, of_ranges, users_in_a_row

TOWN = town(people=300, places=60, seed=3)


def test_answers_and_denials_together_are_the_counts():
    published = AUDITED_ANSWERS.publish(TOWN, AuditedParameters(), 1)
    np.testing.assert_array_equal(published.density, TOWN.aggregate())
    assert published.facts["denied"] == (TOWN.aggregate() == 0).sum()


def test_users_in_a_row_are_those_of_the_busiest_place():
    busiest = int(TOWN.aggregate().sum(axis=1).argmax())
    user, place, _ = TOWN.points()
    assert users_in_a_row(TOWN).sum() == len(np.unique(user[place == busiest]))


def test_more_ranges_disclose_more_and_the_auditor_denies_them():
    few, many = of_ranges(TOWN, 20, 1), of_ranges(TOWN, 2_000, 1)
    assert few["disclosed_by_ranges"] < 0.9 < many["disclosed_by_ranges"]
    assert few["ranges_denied"] < many["ranges_denied"]


def test_denials_tell_all_that_they_hide():
    shares = [of_ranges(TOWN, 1, seed)["learnt_from_denials"] for seed in range(5)]
    assert set(shares) <= {0.0, 1.0}  # all or nothing: an attack that cannot decide says so
    assert 1.0 in shares


def test_traces_without_visits_are_refused():
    with pytest.raises(BadInput, match=r"without any|got none"):
        AUDITED_ANSWERS.publish(TOWN.rows(np.arange(0)), AuditedParameters(), 1)
