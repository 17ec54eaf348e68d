"""The questions to every technique, and how far off answers are."""

import numpy as np
import pytest

from density_assets.research.approaches.workload import (
    asked_rectangles,
    district_days,
    found_busiest,
    score,
    sum_error,
    town,
)

TOWN = town(people=300, places=60, seed=3)
TRUTH = TOWN.aggregate().astype(np.float64)


def test_the_truth_has_no_error():
    scores = score(TRUTH, TRUTH, TOWN.positions)
    assert scores == pytest.approx({"mre": 0, "pc": 1, "emd": 0, "rectangles": 0, "districts": 0, "busiest": 1})


def test_sums_are_those_of_boxes_and_days():
    boxes, days = asked_rectangles(TOWN.positions), district_days(TOWN.positions)
    assert boxes.shape == (500, 60 * 168)
    assert (days @ TRUTH.ravel()).sum() == TRUTH.sum()
    assert days.shape[0] == 9 * 7
    row = boxes[[7]].toarray().reshape(60, 168)
    places, hours = np.flatnonzero(row.any(axis=1)), np.flatnonzero(row.any(axis=0))
    assert row.sum() == len(places) * len(hours)  # every place of the box in every hour of the stretch
    assert (np.diff(hours) == 1).all()


def test_errors_of_sums_are_relative_and_small_sums_do_not_decide():
    workload = district_days(TOWN.positions)
    assert sum_error(workload, TRUTH, 1.1 * TRUTH) == pytest.approx(0.1, rel=0.01)
    little = np.zeros_like(TRUTH)
    little[0, 0] = 1_000_000
    assert sum_error(workload, little, little + 1) < 1.0


def test_the_busiest_are_found_only_if_the_density_tells_them():
    truth = np.arange(40.0)[:, None] + np.zeros((1, 168))
    assert found_busiest(truth, truth) == 1
    assert found_busiest(truth, np.zeros_like(truth)) == 0
    assert found_busiest(truth, -truth) == 0
    half = truth.copy()
    half[-10:] = 0  # the ten busiest are not shown
    assert found_busiest(truth, half) == 0.5
