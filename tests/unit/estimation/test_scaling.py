"""Scaling back: each cell has its own total in the shape of its cluster's week."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from density_assets.estimation.clustering import scale_back

HOURS = 168
values = st.floats(-1e6, 1e6)


def test_cells_of_a_cluster_share_its_shape():
    shapes = np.array([[1.0, 3.0], [5.0, 0.0]])
    cells = scale_back(shapes, np.array([0, 1, 0]), np.array([8.0, 7.0, 4.0]))
    assert cells.tolist() == [[2, 6], [7, 0], [1, 3]]


def test_negative_values_are_clipped_before_the_shape_is_taken():
    assert scale_back(np.array([[-9.0, 1.0, 1.0]]), np.array([0]), np.array([6.0])).tolist() == [[0, 3, 3]]


def test_a_negative_total_is_zero():
    assert scale_back(np.array([[1.0, 2.0]]), np.array([0, 0]), np.array([-5.0, 3.0])).tolist() == [[0, 0], [1, 2]]


@pytest.mark.parametrize("empty", [0.0, -3.0])
def test_a_cluster_without_a_positive_value_is_spread_evenly(empty):
    cells = scale_back(np.full((1, HOURS), empty), np.array([0]), np.array([336.0]))
    assert cells == pytest.approx(np.full((1, HOURS), 2.0))


def test_the_input_is_not_changed():
    shapes, totals = np.array([[-1.0, 2.0], [0.0, 0.0]]), np.array([-1.0, 5.0])
    scale_back(shapes, np.array([0, 1]), totals)
    assert (shapes.tolist(), totals.tolist()) == ([[-1, 2], [0, 0]], [-1, 5])


def test_totals_of_other_cells_are_refused():
    with pytest.raises(ValueError, match=r"got shapes \(2,\) and \(1,\)"):
        scale_back(np.ones((1, HOURS)), np.array([0, 0]), np.array([1.0]))


@given(
    shapes=arrays(np.float64, (3, 5), elements=values),
    labels=arrays(np.int64, 6, elements=st.integers(0, 2)),
    totals=arrays(np.float64, 6, elements=values),
)
def test_rows_are_not_negative_and_sum_to_the_totals(shapes, labels, totals):
    cells = scale_back(shapes, labels, totals)
    assert (cells >= 0).all()
    assert cells.sum(axis=1) == pytest.approx(np.maximum(totals, 0))
