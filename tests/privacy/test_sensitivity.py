"""Exact sensitivity: one user more, through the real SQL and matrices, stays within every bound noise is made for."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from neighbours import ADVERSARIES, CLAMP, COVER, PARAMETERS, TOWERS, WEIGHT_L, L, change, violations

TOWER = st.integers(0, len(TOWERS) - 1)
HOUR = st.integers(0, 167)
WEEK_OF_VISITS = st.lists(st.tuples(HOUR, TOWER), min_size=1, max_size=60, unique=True)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(others=st.lists(WEEK_OF_VISITS, max_size=4), newcomer=WEEK_OF_VISITS)
def test_any_user_stays_within_the_bounds(tmp_path_factory, others, newcomer):
    people = dict(enumerate(others, start=1))
    found = change(tmp_path_factory.mktemp("pair"), people, newcomer, **PARAMETERS)
    assert violations(found, L, WEIGHT_L, CLAMP) == []


@pytest.mark.parametrize("newcomer", ADVERSARIES.values(), ids=ADVERSARIES)
def test_adversaries_stay_within_the_bounds(tmp_path, newcomer):
    crowd = {1: [(hour, 0) for hour in range(0, 168, 7)], 2: [(5, 3)]}
    found = change(tmp_path, crowd, newcomer, **PARAMETERS)
    assert violations(found, L, WEIGHT_L, CLAMP) == []


def test_the_bounds_are_reached(tmp_path):
    """Bounds nobody can reach would only waste accuracy."""
    found = change(tmp_path, {1: [(1, 1)]}, ADVERSARIES["one tower all week"], **PARAMETERS)
    assert np.abs(found.towers).sum() == L
    assert (found.towers**2).sum() == L
    assert found.total[0] == CLAMP
    assert sum(int(v) ** 2 for v in found.weighted.reshape(-1)) > 0.99 * WEIGHT_L * 2**32


def test_a_user_spread_over_clusters_changes_them_by_l_in_squares_together(tmp_path):
    """Σ_E ‖ΔX^E‖₂² ≤ l for any clusters of the cover, though Σ_E ‖ΔX^E‖₂ may reach l."""
    found = change(tmp_path, {}, ADVERSARIES["spread over as many towers as hours"], **PARAMETERS)
    labels = np.arange(len(COVER)) % 4
    per_cluster = np.stack([found.cover[labels == label].sum(axis=0) for label in range(4)])
    norms = np.sqrt((per_cluster**2).sum(axis=1))
    assert (norms**2).sum() <= L * (1 + 1e-6)
    assert norms.sum() > np.sqrt(L)  # what the published proofs overlook
