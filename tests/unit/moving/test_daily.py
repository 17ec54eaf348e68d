"""The four schemes on a day: budgets, and what the paper says of them, on a small crowd."""

import numpy as np
import pytest

from density_assets.cities.crowd import HOURS, crowd, grid
from density_assets.metrics.relative_error import mae_chen, mre_chen
from density_assets.moving.daily import NAMES, mean_distance, needed, pure_cost, release
from density_assets.postprocess.consistency import consistent
from density_assets.privacy.noise import SimulatedNoise
from density_assets.studies.crowds import Days, Streams, as_streams, recipe


@pytest.fixture(scope="module")
def streams() -> Streams:
    """Three days and a fourth of 20,000 people on 40 x 30 cells."""
    made = crowd(20_000, 4, 5, grid(40, 30))
    return as_streams(Days(made.xy, made.cells, np.array(HOURS, dtype=float)))


def drawn(streams, name, seed=0, **choices):
    point = {"epsilon": 0.5, "factor": 0.25, "calibration": "sound"} | choices
    return release(name, streams.past, streams.today, recipe(streams.past, point), SimulatedNoise(seed))


@pytest.mark.parametrize("name", NAMES)
def test_sound_releases_cost_what_was_asked_days_before_included(streams, name):
    day = drawn(streams, name)
    assert pure_cost(day.events) == pytest.approx(0.5)
    assert day.released.shape == streams.today.shape


def test_the_published_dynamic_hybrid_spends_the_budget_once_for_every_day(streams):
    assert pure_cost(drawn(streams, "dynamic_hybrid", calibration="published").events) == pytest.approx(4 * 0.5)


def error(streams, name, tidy=False, metric=mae_chen, **choices):
    found = []
    for seed in range(3):
        noisy = drawn(streams, name, seed, **choices).released
        found.append(metric(streams.today, consistent(noisy, np.random.default_rng(seed)) if tidy else noisy))
    return float(np.mean(found))


@pytest.mark.parametrize("metric", [mae_chen, mre_chen])
def test_hybrids_are_better_than_direct_and_threshold(streams, metric):
    best = min(error(streams, name, metric=metric) for name in ("direct", "threshold"))
    assert error(streams, "static_hybrid", metric=metric) < best
    assert error(streams, "dynamic_hybrid", metric=metric) < best


def test_threshold_as_published_worsens_as_t_falls_and_the_static_hybrid_does_not(streams):
    low, high = ({"factor": factor, "calibration": "published"} for factor in (0.25, 2.0))
    assert error(streams, "threshold", **low) > 2 * error(streams, "threshold", **high)
    assert error(streams, "static_hybrid", **low) < 1.2 * error(streams, "static_hybrid", **high)


def test_consistency_helps_most_when_epsilon_is_small(streams):
    gain = {
        epsilon: error(streams, "direct", epsilon=epsilon) / error(streams, "direct", True, epsilon=epsilon)
        for epsilon in (0.1, 1.0)
    }
    assert gain[0.1] > gain[1.0] > 1


def test_how_many_releases_a_threshold_needs():
    stream = np.array([[5.0, 0], [4, 1], [0, 5], [0, 5]])
    assert [needed(stream, change) for change in (1.0, 2.5, 20.0)] == [3, 2, 1]
    assert mean_distance(stream) == pytest.approx((2 + 8 + 0) / 3)
