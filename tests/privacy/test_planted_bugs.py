"""Tests of the tests: each bug that would break the promise is planted, and must be caught."""

from dataclasses import replace

import neighbours
import numpy as np
from door import Door
from goodness import fits
from neighbours import ADVERSARIES, CLAMP, PARAMETERS, WEIGHT_L, L
from planting import planted

from density_assets.privacy.events import Gaussian
from density_assets.privacy.noise import OpenDpNoise, SimulatedNoise

EVENT = Gaussian("q", 50.0, 5.0)
ZEROS = np.zeros(20_000)


def caught(tmp_path, newcomer) -> list[str]:
    found = neighbours.change(tmp_path, {1: [(1, 1)]}, newcomer, **PARAMETERS)
    return neighbours.violations(found, L, WEIGHT_L, CLAMP)


def test_half_the_noise_is_caught():
    for source in (OpenDpNoise(), SimulatedNoise(1)):
        assert not fits(source.gaussian(ZEROS, replace(EVENT, sigma=EVENT.sigma / 2)), EVENT)


def test_noise_for_one_record_instead_of_a_user_is_caught():
    assert not fits(OpenDpNoise().gaussian(ZEROS, replace(EVENT, sigma=EVENT.sigma / np.sqrt(30))), EVENT)


def test_a_cap_that_is_not_enforced_is_caught(monkeypatch, tmp_path):
    planted(monkeypatch, "truncated_visits", "where place <= $visits_per_user", "where place <= 2 * $visits_per_user")
    assert any("L1" in line for line in caught(tmp_path, ADVERSARIES["one tower all week"]))


def test_several_visits_an_hour_are_caught(monkeypatch, tmp_path):
    planted(
        monkeypatch,
        "truncated_visits",
        "  group by user_id, user_key, hour\n",
        "  group by user_id, user_key, hour, tower_id\n",
    )
    assert caught(tmp_path, ADVERSARIES["all towers in one hour"])


def test_weights_that_ignore_activity_are_caught(monkeypatch, tmp_path):
    planted(monkeypatch, "tower_series", "// count(*)", "// 1")
    assert any("weighted" in line for line in caught(tmp_path, ADVERSARIES["one tower all week"]))


def test_a_total_that_is_not_clamped_is_caught(monkeypatch, tmp_path):
    planted(monkeypatch, "visit_total", "least(count(*), $visits_clamp)", "count(*) + 0 * $visits_clamp")
    assert any("total" in line for line in caught(tmp_path, ADVERSARIES["one tower all week"]))


def test_two_sampled_visits_per_user_are_caught(monkeypatch, tmp_path):
    planted(monkeypatch, "one_visit_histogram", "group by user_id", "group by user_id, y % 2")
    assert any("one visit" in line for line in caught(tmp_path, ADVERSARIES["every tower in every hour"]))


def test_a_fresh_draw_on_rematerialisation_is_caught(tmp_path):
    """A key that moved with the content would draw again: two draws differ, which the stored one never does."""
    door = Door(tmp_path)
    first = door(inputs="a").values["weighted"]
    redrawn = OpenDpNoise().gaussian(np.zeros(50), EVENT)
    assert not np.array_equal(first, redrawn)
    np.testing.assert_array_equal(first, door(inputs="b").values["weighted"])
