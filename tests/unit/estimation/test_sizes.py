"""Sizes of towers: neighbours and crowding say what noise hides."""

from dataclasses import replace

import numpy as np
import pytest

from density_assets.estimation.kronecker import nearness
from density_assets.estimation.sizes import Ground, Totals, sizes

HOURS, TOWERS = 168, 200
RNG = np.random.default_rng(1)
XY = RNG.uniform(0.0, 5_000.0, (TOWERS, 2)) * np.where(np.arange(TOWERS) < 100, 0.4, 1.0)[:, None]
GROUND = Ground.of(XY, nearness(XY))
RHYTHM = 50.0 * (1.2 - np.cos(2 * np.pi * (np.arange(HOURS) - 3) / 24))


def week(size: np.ndarray, sigma: float, seed: int = 2) -> np.ndarray:
    return np.outer(size, RHYTHM) + np.random.default_rng(seed).normal(0.0, sigma, (TOWERS, HOURS))


def error(found: np.ndarray, size: np.ndarray) -> float:
    return float(np.abs(found - size).mean())


def drawn_sizes() -> np.ndarray:
    size = np.exp(RNG.normal(0.0, 0.5, TOWERS))
    return np.asarray(size / size.mean())


def test_sizes_are_found_where_the_city_rises_above_the_noise():
    size = drawn_sizes()
    assert error(sizes(week(size, 5.0), 5.0, GROUND), size) < 0.02


def test_every_tower_is_as_large_as_the_others_where_it_does_not():
    sigma = 5_000.0
    noise = sigma / np.linalg.norm(RHYTHM)  # of a size that is taken as it was measured: five times the size itself
    assert noise > 5.0
    assert sizes(week(np.ones(TOWERS), sigma), sigma, GROUND).std() < 0.05 * noise


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_crowding_tells_what_noise_hides(sign):
    size = 1.0 + sign * 0.25 * GROUND.crowding
    size = np.maximum(size, 0.1) / np.maximum(size, 0.1).mean()
    sigma = 1_000.0
    without = replace(GROUND, crowding=np.zeros(TOWERS))
    assert error(sizes(week(size, sigma), sigma, GROUND), size) < 0.8 * error(
        sizes(week(size, sigma), sigma, without), size
    )


def test_totals_say_more_where_they_are_better_than_the_matrix():
    size, sigma = drawn_sizes(), 2_000.0
    totals = Totals(1_000.0 * size, np.full(TOWERS, 10.0))
    alone, both = (sizes(week(size, sigma), sigma, GROUND, seen) for seen in (None, totals))
    assert error(both, size) < 0.3 * error(alone, size)


def test_totals_below_their_noise_are_left_alone():
    size, sigma = drawn_sizes(), 100.0
    drowned = Totals(np.random.default_rng(7).normal(0.0, 1e6, TOWERS), np.full(TOWERS, 1e6))
    np.testing.assert_array_equal(
        sizes(week(size, sigma), sigma, GROUND, drowned), sizes(week(size, sigma), sigma, GROUND)
    )


@pytest.mark.parametrize("towers", [1, 2, 3])
def test_few_towers_are_no_obstacle(towers):
    xy = np.arange(2.0 * towers).reshape(towers, 2)
    ground = Ground.of(xy, nearness(xy))
    assert np.isfinite(sizes(np.tile(RHYTHM, (towers, 1)), 1.0, ground)).all()
