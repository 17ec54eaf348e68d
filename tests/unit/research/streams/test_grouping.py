"""Groups of small places, and the filter and controller, by hand."""

import numpy as np
import pytest

from density_assets.privacy.noise import SimulatedNoise
from density_assets.research.streams.filtered import (
    Alike,
    Levels,
    RescueParameters,
    appended,
    corrected,
    group_labels,
    nothing_yet,
    observe,
    on_clock,
    pid,
    predicted,
    wanted_prices,
)
from density_assets.research.streams.terms import Terms

ALIKE = Alike(small=30, correlated=0.5, close=25)


def test_small_places_that_move_alike_are_counted_together():
    recent = np.array([[1, 2, 3], [2, 3, 4], [3, 2, 1], [100, 101, 102], [5, 6, 9]], float).T
    labels = group_labels(recent, np.ones(5, bool), ALIKE)
    assert labels[0] == labels[1] == labels[4]  # rising together
    assert len({labels[0], labels[2], labels[3]}) == 3  # falling; large


def test_a_group_ends_when_it_is_large():
    recent = np.array([[9, 10, 11], [11, 12, 13], [13, 14, 15], [15, 16, 17]], float).T
    labels = group_labels(recent, np.ones(4, bool), ALIKE)
    assert labels.tolist() == [0, 0, 0, 1]  # 10 + 12 is below 30, so the third joins; then it is 36


def test_places_that_are_not_due_or_not_known_stay_out():
    recent = np.array([[1, 2, 3], [1, 2, 3], [np.nan, 2, 3]], float).T
    labels = group_labels(recent, np.array([True, False, True]), ALIKE)
    assert labels[1] == -1
    assert labels[0] != labels[2]


def test_sums_are_shared_out_equally_at_the_most_modest_price():
    counts, labels = np.array([10.0, 20.0, 7.0, 5.0]), np.array([0, 0, 1, -1])
    observed, variance, dearest = observe(
        counts, labels, np.array([1e8, 2e8, 3e8, 9e8]), Terms(1e9, 1, 1, 1, True), SimulatedNoise(0)
    )
    assert observed == pytest.approx([15, 15, 7, 0], abs=1e-3)
    assert dearest == 3e8
    assert variance[:3] == pytest.approx([2 / 1e16 / 4, 2 / 1e16 / 4, 2 / 9e16])
    assert variance[3] == np.inf


def test_who_waits_longer_spends_more_up_to_a_fifth():
    terms = Terms(1.0, 24, 24, 1, True)
    wanted = wanted_prices(np.array([1.0, 5.0, 1e9]), 0.3, terms, RescueParameters())
    assert wanted == pytest.approx([0.2 * np.log(2) * 0.3, 0.2 * np.log(6) * 0.3, 0.6 * 0.3])
    assert wanted_prices(np.array([1e9]), 1.0, terms, RescueParameters()) == pytest.approx([0.2])


def test_the_filter_weighs_by_variances():
    levels = corrected(predicted(Levels(np.zeros(2), np.full(2, 3.0)), 1.0), np.full(2, 8.0), np.array([4.0, np.inf]))
    assert levels.values.tolist() == [4.0, 0.0]
    assert levels.variance.tolist() == [2.0, 4.0]


def test_the_controller_weighs_the_last_error_and_the_mean():
    errors = nothing_yet(3, 2)
    for newest in (1.0, 2.0, 3.0, 4.0):
        errors = appended(errors, np.array([True, newest == 1.0]), np.full(2, newest))
    assert pid(errors) == pytest.approx([0.9 * 4 + 0.1 * 3, 0.9 * 1 + 0.1 * 1])
    assert on_clock(np.array([1.0, 3.0]), "common").tolist() == [2.0, 2.0]
