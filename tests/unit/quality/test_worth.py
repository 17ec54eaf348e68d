"""Released counts beside maps that cost nothing."""

import numpy as np
import pytest

from density_assets.quality.released import Worth, worth_of

COUNTS = np.repeat([[10], [30]], 168, axis=1)


def test_shares_are_those_a_reader_can_check_by_hand():
    """A flat map has 20 everywhere, 10 too many here and 10 too few there; a standard error of 3 is 6 of 40 visits."""
    said = worth_of(COUNTS, np.full(COUNTS.shape, 3.0))
    assert said.flat == pytest.approx(20 / 40)
    assert said.release == pytest.approx(np.sqrt(2 / np.pi) * 6 / 40)
    assert not said.too_small
    assert said.warnings == []
    assert said.note == str(said)
    assert "about 12% of the visits" in said.note


def test_hours_and_cells_without_visits_do_not_make_it_large():
    """A share of all visits, not a mean of relative errors: a nearly empty cell is not divided by nearly nothing."""
    counts = np.zeros((50, 168), np.int64)
    counts[:2] = 1_000
    counts[2:, 3] = 1
    assert worth_of(counts, np.full(counts.shape, 5.0)).release == pytest.approx(
        np.sqrt(2 / np.pi) * 5 * 50 / 2_000, rel=0.01
    )


def test_a_city_of_noise_is_called_too_small():
    said = worth_of(COUNTS, np.full(COUNTS.shape, 30.0))
    assert said.too_small
    assert "too small for its promise" in said.warnings[0]
    assert "more than 100% of the visits" in said.note
    assert "flat map" in said.note


def test_a_city_whose_cells_are_alike_is_as_well_said_by_a_flat_map():
    assert worth_of(np.full((3, 168), 10), np.ones((3, 168))).too_small


def test_a_city_of_one_cell_has_no_flat_map():
    said = worth_of(COUNTS[:1], np.full((1, 168), 3.0))
    assert said.flat is None
    assert not said.too_small
    assert "flat" not in said.note
    assert worth_of(COUNTS[:1], np.full((1, 168), 30.0)).too_small


def test_no_counts_at_all_are_worth_an_empty_map():
    assert worth_of(np.zeros((2, 168), np.int64), np.ones((2, 168))) == Worth(1.0, 1.0)
    assert worth_of(np.zeros((2, 168), np.int64), np.ones((2, 168))).too_small
