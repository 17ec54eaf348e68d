"""The ratio of measured to filtered totals: planted ones come back, noise does not, and many towers are no burden."""

import numpy as np
import pytest

from density_assets.estimation import sizes as module
from density_assets.estimation.kronecker import neighbours
from density_assets.estimation.sizes import COMMON, REACH, Totals, TowerRatio, tower_ratio

TOWERS = 300


def city(seed: int = 1, towers: int = TOWERS) -> tuple[np.ndarray, np.ndarray]:
    """Positions within a square of ten kilometres, and sizes."""
    random = np.random.default_rng(seed)
    return random.uniform(0, 10_000, (towers, 2)), random.gamma(2.0, 10_000, towers)


def smooth(xy: np.ndarray, seed: int = 2) -> np.ndarray:
    """A bias of 6 % that fades over a kilometre."""
    apart = np.linalg.norm(xy[:, None] - xy, axis=2)
    root = np.linalg.cholesky(np.exp(-apart / REACH) + 1e-9 * np.eye(len(xy)))
    return 0.06 * root @ np.random.default_rng(seed).normal(size=len(xy))


def known(visits: np.ndarray, error: float) -> Totals:
    return Totals(visits, np.full(len(visits), error))


def test_a_planted_ratio_comes_back_where_totals_are_exact():
    xy, sizes = city()
    bias = smooth(xy)
    ratio = tower_ratio(known(sizes * (1 + bias), 1.0), known(sizes, 1.0), xy)
    expected = (1 + bias) * sizes.sum() / (sizes * (1 + bias)).sum()
    np.testing.assert_allclose(ratio.factor, expected, atol=0.002)
    assert ratio.error.max() < 0.01


def test_a_noisy_ratio_is_better_than_none_and_than_the_raw_one_and_knows_its_error():
    xy, sizes = city()
    bias, random = smooth(xy), np.random.default_rng(3)
    measured, filtered = sizes * (1 + bias) + random.normal(0, 1_500, TOWERS), sizes
    ratio = tower_ratio(known(measured, 1_500), known(filtered, 10.0), xy)
    true = (1 + bias) / np.average(1 + bias, weights=sizes)
    raw = measured / measured.sum() * sizes.sum() / sizes

    def miss(factor: np.ndarray) -> float:
        return float(np.sqrt(np.mean((factor - true) ** 2)))

    assert miss(ratio.factor) < 0.8 * min(miss(np.ones(TOWERS)), miss(raw))
    assert np.mean(np.abs(ratio.factor - true) <= 1.96 * ratio.error) > 0.9


def test_the_error_of_the_filter_is_undone_as_well():
    """Where weights have no bias, a tower that the filter has missed is what its total says."""
    xy, sizes = city()
    missed = sizes * (1 + np.random.default_rng(4).normal(0, 0.1, TOWERS))
    ratio = tower_ratio(known(sizes, 1.0), Totals(missed, 0.1 * missed), xy)
    corrected = ratio.factor * missed
    np.testing.assert_allclose(corrected / corrected.sum(), sizes / sizes.sum(), rtol=0.02)


def test_without_a_bias_no_variance_is_found_and_nothing_moves():
    xy, sizes = city()
    noisy = sizes + np.random.default_rng(5).normal(0, 1_000, TOWERS)
    ratio = tower_ratio(known(noisy, 1_000), known(sizes, 1.0), xy)
    np.testing.assert_allclose(ratio.factor, 1.0, atol=0.01)
    assert ratio.error.max() <= COMMON


def test_the_posterior_is_that_of_the_joint_normal_distribution():
    """Computed anew: means and covariances of (r, r + e) given y from the formula of conditional distributions."""
    xy, sizes = city(towers=40)
    bias = smooth(xy)
    measured, filtered = known(sizes * (1 + bias), 800.0), known(sizes, 300.0)
    own, shared = 0.03, 0.04
    true, seen = measured.shares, filtered.shares
    block = module._Block.of(np.arange(40), true, seen, xy)
    mean, error = block.posterior(own, shared)
    apart = np.linalg.norm(xy[:, None] - xy, axis=2)
    r = own**2 * np.eye(40) + shared**2 * np.exp(-apart / 1_000) + 0.02**2
    e, n = (np.diag((of.error / seen.visits) ** 2) for of in (seen, true))
    precision, y = np.linalg.inv(r + e + n + module.LEAST * np.eye(40)), true.visits / seen.visits - 1
    np.testing.assert_allclose(mean, (r + e) @ precision @ y, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(error, np.sqrt(np.diag(r - r @ precision @ r)), rtol=1e-9)
    logarithm = -np.linalg.slogdet(precision)[1]
    assert block.likelihood(own, shared) == pytest.approx(-0.5 * (logarithm + y @ precision @ y), rel=1e-9)


@pytest.mark.parametrize(
    ("measured", "filtered"),
    [(np.zeros(TOWERS), np.ones(TOWERS)), (-np.ones(TOWERS), np.ones(TOWERS)), (np.ones(TOWERS), np.zeros(TOWERS))],
    ids=["no totals", "negative totals", "no matrix"],
)
def test_a_city_below_the_noise_keeps_its_sizes(measured, filtered):
    ratio = tower_ratio(known(measured, 1.0), known(filtered, 1.0), city()[0])
    assert (ratio.factor == 1.0).all()
    assert (ratio.error == COMMON).all()


def test_a_tower_without_signal_keeps_its_size_among_others_that_do_not():
    xy, sizes = city()
    sizes[7] = 0.0
    ratio = tower_ratio(known(sizes * (1 + smooth(xy)), 1.0), known(sizes, 1.0), xy)
    assert ratio.factor[7] == 1.0
    assert (ratio.factor != 1.0).sum() == TOWERS - 1
    assert np.isfinite(ratio.factor).all()


def test_no_factor_is_negative():
    xy, sizes = city()
    measured = sizes.copy()
    measured[3] = -9 * sizes[3]
    ratio = tower_ratio(known(measured, 1.0), Totals(sizes, 0.3 * sizes), xy)
    assert ratio.factor[3] == 0.0
    assert (ratio.factor >= 0).all()


def test_blocks_are_neighbours_and_together_all_towers(monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 80)
    xy, sizes = city()
    parts = list(neighbours(np.arange(TOWERS), xy, 80))
    assert sorted(np.concatenate(parts).tolist()) == list(range(TOWERS))
    assert max(map(len, parts)) <= 80
    assert max(np.ptp(xy[part], axis=0).max() for part in parts) < 6_000  # quarters of ten kilometres
    bias = smooth(xy)
    measured, filtered = known(sizes * (1 + bias), 500.0), known(sizes, 100.0)
    cut = tower_ratio(measured, filtered, xy)
    monkeypatch.undo()
    whole = tower_ratio(measured, filtered, xy)
    assert isinstance(cut, TowerRatio)
    assert np.abs(cut.factor - whole.factor).mean() < 0.003  # only pairs across a seam are lost
