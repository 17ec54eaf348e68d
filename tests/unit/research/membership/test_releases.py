"""Release schemes as defenses: contributions are bounded as a release bounds them, and noise shrinks with epsilon."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from density_assets.research.contributions import bound_week
from density_assets.research.membership.defenses import Groups
from density_assets.research.membership.releases import release_groups, roi_places
from density_assets.research.traces.commuters import commuters
from density_assets.settings import PrivacySettings, SchemeSettings, Settings


def settings(scheme: str, epsilon: float) -> Settings:
    privacy = PrivacySettings().model_copy(update={"epsilon": epsilon})  # also one that no file may ask for
    return Settings(privacy=privacy, scheme=SchemeSettings(name=scheme))


@pytest.fixture(scope="module")
def week():
    return commuters(80, 1, seed=1, rows=4, columns=4)


@pytest.mark.parametrize("name", ["gpa", "fpa", "efpa", "efpag", "efpag_iris"])
def test_schemes_release_the_groups(week, name):
    groups = Groups(week, csr_array(np.ones((2, 80), dtype=np.int32)))
    chosen = settings(name, 1.0)
    parts = bound_week(week, chosen, np.random.default_rng(0))
    drawn = release_groups(groups, parts, roi_places(week), chosen, seed=1)
    assert drawn.series.shape == drawn.estimates.shape == (2, 16, 168)
    assert drawn.estimates.min() >= 0
    assert not np.array_equal(drawn.series[0], drawn.series[1])


def test_the_doors_of_lowrank_add_up_what_is_weighted(week):
    chosen = settings("lowrank", 5_000.0)
    parts = bound_week(week, chosen, np.random.default_rng(0))
    groups = Groups(week, csr_array(np.eye(1, 80, dtype=np.int32)))
    drawn = release_groups(groups, parts, roi_places(week), chosen, seed=1, estimate=False)
    alone = parts.weighted[[0]].toarray().reshape(16, 168) / 2**16
    assert drawn.series[0] == pytest.approx(alone, abs=0.5)
    assert len(drawn.estimates) == 0
