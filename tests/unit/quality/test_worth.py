"""Released counts beside maps that cost nothing."""

import numpy as np
import pytest

from density_assets.quality.worth import Worth, worth

COUNTS = np.repeat([[10], [30]], 168, axis=1)


def test_errors_are_those_a_reader_can_check_by_hand():
    """A flat map has 20 everywhere, and a standard error of 3 is 30 % of 10 and 10 % of 30."""
    said = worth(COUNTS, np.full(COUNTS.shape, 3.0))
    assert said.flat == pytest.approx((10 / 10 + 10 / 30) / 2)
    assert said.empty == 1.0
    assert said.release == pytest.approx(np.sqrt(2 / np.pi) * (3 / 10 + 3 / 30) / 2)
    assert not said.too_small
    assert said.warnings == []
    assert said.note == str(said)


def test_hours_with_few_visits_count_by_a_thousandth_of_the_week():
    counts = np.zeros((1, 168), np.int64)
    counts[0, 0] = 1_000
    assert worth(counts, np.ones(counts.shape)).empty == pytest.approx(1 / 168)


def test_a_city_of_noise_is_called_too_small():
    said = worth(COUNTS, np.full(COUNTS.shape, 30.0))
    assert said.too_small
    assert "too small for its promise" in said.warnings[0]
    assert "flat map" in said.note


def test_a_city_whose_cells_are_alike_is_as_well_said_by_a_flat_map():
    assert worth(np.full((3, 168), 10), np.ones((3, 168))).too_small


def test_cells_without_counts_have_no_relative_error():
    with_empty = np.vstack([COUNTS, np.zeros((1, 168), np.int64)])
    said = worth(with_empty, np.full(with_empty.shape, 3.0))
    assert np.isfinite([said.release, said.flat, said.empty]).all()


def test_no_counts_at_all_are_worth_an_empty_map():
    assert worth(np.zeros((2, 168), np.int64), np.ones((2, 168))) == Worth(1.0, 1.0, 1.0)
    assert worth(np.zeros((2, 168), np.int64), np.ones((2, 168))).too_small
