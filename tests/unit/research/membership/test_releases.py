"""Release schemes as defenses: contributions are bounded as a release bounds them, and noise shrinks with epsilon."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from density_assets.research.membership.defenses.groups import Groups
from density_assets.research.membership.defenses.releases import bounded, release_groups, roi_places
from density_assets.research.traces.commuters import commuters
from density_assets.settings import PrivacySettings, SchemeSettings, Settings


def settings(scheme: str, epsilon: float) -> Settings:
    privacy = PrivacySettings().model_copy(update={"epsilon": epsilon})  # also one that no file may ask for
    return Settings(privacy=privacy, scheme=SchemeSettings(name=scheme))


@pytest.fixture(scope="module")
def week():
    return commuters(80, 1, seed=1, rows=4, columns=4)


def test_contributions_are_bounded(week):
    parts = bounded(week, settings("lowrank", 1.0), np.random.default_rng(0))
    assert parts.truncated.sum(axis=1).max() <= 30
    assert parts.truncated.toarray().reshape(80, 16, 168).sum(axis=1).max() == 1
    assert (parts.truncated > week.matrix).nnz == 0
    assert parts.sampled.sum(axis=1).max() == 1
    points = np.diff(week.matrix.indptr)
    assert np.array_equal(parts.visits, np.minimum(points, 732))
    norms = (parts.weighted.toarray() ** 2).sum(axis=1)
    assert norms.max() <= 20 * 2**32
    visits = week.matrix.toarray().reshape(80, 16, 168).sum(axis=2)
    weight = np.minimum(2**16, np.sqrt(400 * 2**32 // np.maximum((visits**2).sum(axis=1), 1)).astype(np.int64))
    assert np.array_equal(parts.totals.toarray(), weight[:, None] * visits)
    light = np.flatnonzero((points > 0) & (points <= 20))
    assert (parts.weighted[light].data == 2**16).all()


def test_another_number_of_hours_is_refused(week):
    with pytest.raises(ValueError, match="168 hours"):
        bounded(commuters(5, 2, seed=1), settings("lpa", 1.0), np.random.default_rng(0))


@pytest.mark.parametrize("name", ["gpa", "fpa", "efpa", "efpag", "efpag_iris"])
def test_schemes_release_the_groups(week, name):
    groups = Groups(week, csr_array(np.ones((2, 80), dtype=np.int32)))
    chosen = settings(name, 1.0)
    parts = bounded(week, chosen, np.random.default_rng(0))
    drawn = release_groups(groups, parts, roi_places(week), chosen, seed=1)
    assert drawn.series.shape == drawn.estimates.shape == (2, 16, 168)
    assert drawn.estimates.min() >= 0
    assert not np.array_equal(drawn.series[0], drawn.series[1])


def test_the_doors_of_lowrank_add_up_what_is_weighted(week):
    chosen = settings("lowrank", 5_000.0)
    parts = bounded(week, chosen, np.random.default_rng(0))
    groups = Groups(week, csr_array(np.eye(1, 80, dtype=np.int32)))
    drawn = release_groups(groups, parts, roi_places(week), chosen, seed=1, estimate=False)
    alone = parts.weighted[[0]].toarray().reshape(16, 168) / 2**16
    assert drawn.series[0] == pytest.approx(alone, abs=0.5)
    assert len(drawn.estimates) == 0
