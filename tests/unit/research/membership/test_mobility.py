"""Characteristics of traces, on two people whose weeks can be read off."""

import numpy as np
import pytest

from density_assets.research.membership.exposure import characteristics, coefficients, extremes, importances, unicity
from density_assets.research.traces.matrix import Traces, binary


@pytest.fixture
def pair() -> Traces:
    """ann: ROIs 0 and 1 in hour 8, ROI 0 in hour 9 and on Saturday. bob: ROI 0 in hour 9."""
    points = np.array([(0, 0, 8), (0, 1, 8), (0, 0, 9), (0, 0, 130), (1, 0, 9)])
    matrix = binary(points[:, 0], points[:, 1] * 168 + points[:, 2], (2, 336))
    return Traces(matrix, np.array(["ann", "bob"]), 168, np.zeros((2, 2)))


def test_counts_and_means(pair):
    found = characteristics(pair)
    ann = {name: values[0] for name, values in found.items()}
    assert ann["total events"] == 4
    assert ann["unique locations"] == 2
    assert ann["active slots"] == 3
    assert ann["locations per slot"] == pytest.approx(4 / 3)
    assert ann["active slots/weekday"] == pytest.approx(2 / 5)
    assert ann["events/weekday"] == pytest.approx(3 / 5)
    assert ann["events/weekend"] == ann["active slots/weekend"] == pytest.approx(1 / 2)


def test_entropies(pair):
    found = characteristics(pair)
    assert found["spatial entropy"] == pytest.approx([-(0.75 * np.log(0.75) + 0.25 * np.log(0.25)), 0])
    assert found["temporal entropy"] == pytest.approx([-(0.5 * np.log(0.5) + 0.5 * np.log(0.25)), 0])


def test_unicity_is_the_share_of_slots_spent_unlike_anybody(pair):
    assert unicity(pair) == pytest.approx([2 / 168, 0])  # in hour 9 both are in ROI 0


def test_what_separates_the_exposed_is_found():
    rng = np.random.default_rng(0)
    score = np.linspace(0.5, 1.0, 100)
    table = {"volume": 10 * score + rng.normal(0, 0.2, 100), "noise": rng.normal(0, 1, 100)}
    top, bottom = extremes(score)
    assert top.min() == 90
    assert bottom.max() == 9
    found = importances(table, score)
    assert found["volume"] > 3 * found["noise"]
    assert coefficients(table, score)["volume"] < -0.5
