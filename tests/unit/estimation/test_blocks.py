"""Blocks of towers: their algebra is that of dense matrices, and a city in blocks is estimated as well as a whole."""

from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_array

from density_assets.estimation import kronecker, shrinkage
from density_assets.estimation.kronecker import (
    OWN,
    Block,
    BlockDiagonal,
    learn,
    modes,
    nearness,
    neighbours,
    nothing,
    some_rows,
)
from density_assets.estimation.shrinkage import posterior
from density_assets.estimation.sizes import Ground, sizes
from density_assets.estimation.weeks.errors import variance_of_sums
from density_assets.estimation.weeks.estimate import estimate_week
from density_assets.estimation.weeks.state import Measured

TOWERS, HOURS, SIGMA = 400, 168, 40.0
XY = 300.0 * np.random.default_rng(4).permutation([(i % 20, i // 20) for i in range(TOWERS)])
CUT = {"together": 100, "block": 100}  # into four quarters


def dense(matrix: BlockDiagonal) -> np.ndarray:
    return matrix @ np.eye(TOWERS)


def usual_week() -> np.ndarray:
    """Offices in the west, homes in the east, and a taste of its own at every tower."""
    rng, hour = np.random.default_rng(1), np.arange(HOURS) % 24
    office, home = np.exp(-(((hour - 13) / 4.0) ** 2)), 0.3 + np.exp(-(((hour - 20) / 3.0) ** 2))
    west = np.clip(XY[:, :1] / XY[:, 0].max() + rng.normal(0.0, 0.1, (TOWERS, 1)), 0.0, 1.0)
    return 100.0 * rng.lognormal(0.0, 0.4, (TOWERS, 1)) * (west * home + (1 - west) * office)


def measure(truth: np.ndarray, seed: int) -> Measured:
    rng = np.random.default_rng(seed)
    noisy = rng.poisson(truth) + rng.normal(0.0, SIGMA, truth.shape)
    return Measured(noisy, SIGMA, truth.sum(), 1000.0, truth.sum(axis=1) + rng.normal(0.0, 200.0, TOWERS), 200.0)


def test_parts_are_compact_and_together_all_towers():
    parts = list(neighbours(np.arange(TOWERS), XY, 100))
    assert sorted(np.concatenate(parts).tolist()) == list(range(TOWERS))
    assert [len(part) for part in parts] == [100] * 4
    assert all((np.ptp(XY[part], axis=0) == 2_700.0).all() for part in parts)  # squares of ten by ten towers
    assert list(neighbours(np.array([], int), XY, 100)) == []


def test_the_algebra_is_that_of_the_dense_matrix():
    rng = np.random.default_rng(0)
    cut = nearness(XY, **CUT).each(lambda block: rng.random(block.matrix.shape))
    whole, columns = dense(cut), rng.random((TOWERS, 3))
    areas = rng.random((5, TOWERS)) * (rng.random((5, TOWERS)) < 0.01)
    assert dense(cut.T) == pytest.approx(whole.T)
    assert dense(cut**2) == pytest.approx(whole**2)
    assert cut @ columns == pytest.approx(whole @ columns)
    assert cut @ columns[:, 0] == pytest.approx(whole @ columns[:, 0])
    assert areas @ cut == pytest.approx(areas @ whole)
    assert csr_array(areas) @ cut == pytest.approx(areas @ whole)


def test_a_city_of_few_towers_is_one_block():
    near = nearness(XY, together=TOWERS, block=10)
    assert [block.towers for block in near.blocks] == [slice(None)]
    assert near.blocks[0].matrix.shape == (TOWERS, TOWERS)
    assert np.diag(near.blocks[0].matrix) == pytest.approx(1 + OWN)


def test_a_city_of_more_is_cut_and_forgets_only_pairs_across_blocks():
    cut, whole = dense(nearness(XY, **CUT)), dense(nearness(XY))
    assert len(nearness(XY, **CUT).blocks) == 4
    assert cut[cut > 0] == pytest.approx(whole[cut > 0])
    assert (cut > 0).sum() == 4 * 100**2


def test_blocks_are_diagonalised_one_by_one():
    size, near = np.random.default_rng(2).uniform(0.5, 2.0, TOWERS), nearness(XY, **CUT)
    along = modes(size, near)
    basis = dense(along.towers)
    assert basis.T @ basis == pytest.approx(np.eye(TOWERS))
    assert (basis * along.scale) @ basis.T == pytest.approx(size[:, None] * dense(near) * size)


def test_the_filter_of_blocks_is_that_of_their_dense_covariance():
    noisy, near = measure(usual_week(), 0).series, nearness(XY, **CUT)
    size = sizes(noisy, SIGMA, Ground.of(XY, near))
    together = BlockDiagonal((Block(slice(None), dense(near)),))
    cut, whole = (learn(noisy, SIGMA, size, modes(size, matrix)) for matrix in (near, together))
    assert cut.mean == pytest.approx(whole.mean)
    assert cut.covariance == pytest.approx(whole.covariance)
    in_hours = [known.hours @ known.rhythm_error @ known.hours.T for known in (cut, whole)]
    assert in_hours[0] == pytest.approx(in_hours[1])
    assert cut.towers**2 @ cut.variance == pytest.approx(whole.towers**2 @ whole.variance)


def test_no_signal_is_as_uncertain_as_the_noise_in_every_block():
    known = nothing((TOWERS, HOURS), SIGMA, nearness(XY, **CUT))
    assert known.towers**2 @ known.variance == pytest.approx(SIGMA**2)


def test_a_city_in_blocks_is_estimated_nearly_as_well_and_its_sums_are_as_uncertain():
    truth, errors, held = usual_week(), {}, {}
    middle = (np.abs(XY - XY.mean(axis=0)) < 1_000).all(axis=1)  # a district of which every block has a quarter
    areas = np.vstack([middle, np.ones(TOWERS), np.eye(TOWERS)[:10]])
    for name, near in {"whole": nearness(XY), "cut": nearness(XY, **CUT)}.items():
        state, held[name] = None, []
        for week in range(3):
            estimate, state = estimate_week(state, measure(truth, week), XY, Ground.of(XY, near))
            off = np.abs(areas @ (estimate.series - truth))
            held[name].append(off < 1.96 * np.sqrt(estimate.variance_of_sums(areas, np.eye(HOURS))))
            errors[name, week] = np.abs(estimate.series - truth).mean() / truth.mean()
    for week in range(3):
        assert errors["cut", week] < 1.03 * errors["whole", week]  # blocks so small have many towers at their seams
    assert np.mean(held["cut"]) > 0.92
    assert np.mean(held["cut"]) == pytest.approx(np.mean(held["whole"]), abs=0.02)


def test_a_single_week_is_cut_as_well(monkeypatch):
    noisy, areas = measure(usual_week(), 0).series, csr_array(np.kron(np.eye(TOWERS // 4), np.ones((1, 4))))
    whole = posterior(noisy, SIGMA, XY)
    monkeypatch.setattr(shrinkage, "nearness", partial(nearness, **CUT))
    cut = posterior(noisy, SIGMA, XY)
    assert len(cut.towers.blocks) == 4
    assert np.abs(cut.mean - whole.mean).mean() < 0.1 * SIGMA
    assert cut.standard_error(areas) == pytest.approx(whole.standard_error(areas), rel=0.3)


def test_sparse_areas_are_summed_some_at_a_time(monkeypatch):
    estimate, _ = estimate_week(None, measure(usual_week(), 0), XY, Ground.of(XY, nearness(XY, **CUT)))
    areas = csr_array(np.random.default_rng(3).random((7, TOWERS)) < 0.02, dtype=np.float64)
    monkeypatch.setattr(kronecker, "AT_ONCE", 3)
    assert [rows.shape for rows in some_rows(areas)] == [(3, TOWERS), (3, TOWERS), (1, TOWERS)]
    assert np.vstack([rows.toarray() for rows in some_rows(areas)]) == pytest.approx(areas.toarray())
    by_parts = variance_of_sums(estimate.errors, areas, np.eye(HOURS))
    assert by_parts == pytest.approx(estimate.variance_of_sums(areas.toarray(), np.eye(HOURS)))
