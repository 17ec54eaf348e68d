"""Every technique, by the name that people type: what it publishes, spends and refuses."""

import contextlib
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from density_assets.errors import BadInput
from density_assets.privacy.composition import spent
from density_assets.research.approaches.approaches_study import APPROACHES_STUDY, parameters
from density_assets.research.approaches.attacks import FINDERS
from density_assets.research.approaches.techniques import TECHNIQUES, technique_named
from density_assets.research.approaches.workload import town

TOWN = town(people=300, places=60, seed=3)
EMPTY = replace(TOWN, matrix=csr_array(TOWN.matrix.shape, dtype=np.int32))
PROMISING = [name for name, technique in TECHNIQUES.items() if "epsilon" in technique.parameters.model_fields]


@pytest.mark.parametrize("name", TECHNIQUES)
def test_a_density_is_published_and_the_same_seed_gives_it_again(name):
    technique = TECHNIQUES[name]
    first, again = (technique.publish(TOWN, technique.parameters(), 5) for _ in range(2))
    assert first.density.shape == (60, 168)
    assert np.isfinite(first.density).all()
    np.testing.assert_array_equal(first.density, again.density)
    if first.traces is not None:
        assert (first.traces.matrix != again.traces.matrix).nnz == 0
    assert first.facts == again.facts


@pytest.mark.parametrize("name", PROMISING)
@pytest.mark.parametrize("epsilon", [0.3, 3.0])
def test_what_is_spent_is_what_was_promised(name, epsilon):
    technique = TECHNIQUES[name]
    published = technique.publish(TOWN, technique.parameters(epsilon=epsilon, delta=1e-6), 1)
    assert published.events
    assert spent(published.events, 1e-6).epsilon <= epsilon


@pytest.mark.parametrize("name", PROMISING)
def test_a_promise_is_about_a_user_and_others_promise_none(name):
    assert TECHNIQUES[name].protects == "a user's week"


def test_who_promises_nothing_in_epsilon_protects_nobody_or_tells_nothing():
    others = {name: TECHNIQUES[name].protects for name in TECHNIQUES if name not in PROMISING}
    assert {name for name, protects in others.items() if protects != "nobody"} == {"empty_map"}


PLAIN = {"exact_counts", "empty_map", "flat_map"}


@pytest.mark.parametrize("name", sorted(TECHNIQUES.keys() - PLAIN - set(PROMISING)))
def test_nobody_to_publish_is_said(name):
    with pytest.raises(BadInput, match=r"empty|without any|no point|got none"):
        TECHNIQUES[name].publish(EMPTY, TECHNIQUES[name].parameters(), 1)


@pytest.mark.parametrize("name", PROMISING)
def test_who_promises_either_refuses_empty_traces_or_publishes_noise(name):
    technique = TECHNIQUES[name]
    with contextlib.suppress(BadInput):
        assert np.isfinite(technique.publish(EMPTY, technique.parameters(), 1).density).all()


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(BadInput, match=r"one of .*lowrank.*; got 'lowrnk'; did you mean 'lowrank'\?"):
        technique_named("lowrnk")


def test_every_technique_has_its_rows_in_the_study():
    assert {point["technique"] for point in APPROACHES_STUDY.grid} == set(TECHNIQUES)
    weaker = {point["technique"] for point in APPROACHES_STUDY.grid if point["unit"]}
    assert weaker == {"fast", "budget_distribution", "budget_absorption", "rescue_dp", "uniform", "sample"}


def test_the_promise_of_a_point_reaches_the_technique_and_its_own_delta_stays():
    point = {"technique": "fast", "epsilon": 0.7, "unit": "w hours"}
    chosen = parameters(TECHNIQUES["fast"], point)
    assert (chosen.epsilon, chosen.delta, chosen.unit) == (0.7, 1e-6, "w hours")
    metres = parameters(TECHNIQUES["never_walk_alone"], {"epsilon": None, "unit": None}).delta
    assert metres == 2_000.0


@pytest.mark.parametrize("name", FINDERS)
def test_shares_that_are_found_are_shares(name):
    technique = TECHNIQUES[name]
    assert 0 <= FINDERS[name](TOWN, technique.parameters(), 1) <= 1
