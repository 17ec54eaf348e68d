"""What every syntactic technique must do with its defaults, on a town of the size of the study's map."""

from functools import cache

import numpy as np
import pytest

from density_assets.errors import BadInput
from density_assets.research.approaches.technique import AnyTechnique, Published
from density_assets.research.approaches.workload import town
from density_assets.research.traces.matrix import Traces, binary
from density_assets.research.trajectories.confidentiality import P_CONFIDENTIALITY
from density_assets.research.trajectories.generalisation import K_ANONYMITY
from density_assets.research.trajectories.km_anonymity import KM_ANONYMITY, PROBABILISTIC_KM
from density_assets.research.trajectories.never_walk_alone import NEVER_WALK_ALONE

TECHNIQUES = (NEVER_WALK_ALONE, K_ANONYMITY, KM_ANONYMITY, PROBABILISTIC_KM, P_CONFIDENTIALITY)
TOWN = town(people=400, places=150, seed=2)


@cache
def with_defaults(technique: AnyTechnique) -> Published:
    return technique.publish(TOWN, technique.parameters(), 7)


each = pytest.mark.parametrize("technique", TECHNIQUES, ids=lambda one: one.name)


@each
def test_defaults_publish_a_density_and_trajectories_of_the_same_map(technique: AnyTechnique) -> None:
    published = with_defaults(technique)
    assert published.density.shape == (150, 168)
    assert np.isfinite(published.density).all()
    assert (published.density >= 0).all()
    assert published.traces is not None
    assert published.traces.matrix.shape == (len(published.traces.users), 150 * 168)
    assert published.traces.matrix.data.tolist() == [1] * published.traces.matrix.nnz
    assert set(published.traces.users) <= set(TOWN.users)


@each
def test_nothing_is_promised_in_terms_of_noise(technique: AnyTechnique) -> None:
    assert technique.protects == "nobody"
    assert with_defaults(technique).events == ()


@each
def test_the_same_seed_gives_the_same_trajectories(technique: AnyTechnique) -> None:
    one, two = with_defaults(technique), technique.publish(TOWN, technique.parameters(), 7)
    assert np.array_equal(one.density, two.density)
    assert one.traces is not None
    assert two.traces is not None
    assert (one.traces.matrix != two.traces.matrix).nnz == 0
    assert one.facts == two.facts


@each
def test_empty_traces_are_refused(technique: AnyTechnique) -> None:
    nobody = Traces(binary(np.zeros(0, int), np.zeros(0, int), (3, 150 * 168)), np.arange(3), 168, TOWN.positions)
    with pytest.raises(BadInput, match="empty traces"):
        technique.publish(nobody, technique.parameters(), 0)
