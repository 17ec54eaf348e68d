"""The Hilbert curve visits every cell once, in steps of one."""

import numpy as np
import pytest

from density_assets.errors import BadInput
from density_assets.research.queries.hilbert import curve_position, hilbert_order


@pytest.mark.parametrize("levels", [1, 2, 5])
def test_the_curve_visits_every_cell_once_in_steps_of_one(levels):
    x, y = (axis.ravel() for axis in np.meshgrid(np.arange(2**levels), np.arange(2**levels)))
    position = curve_position(x, y, levels)
    assert sorted(position) == list(range(4**levels))
    order = np.argsort(position)
    steps = np.abs(np.diff(x[order])) + np.abs(np.diff(y[order]))
    assert (steps == 1).all()


def test_places_of_a_grid_follow_the_curve():
    xy = np.array([[0, 0], [100, 0], [100, 100], [0, 100]], dtype=float)
    assert hilbert_order(xy).tolist() == [0, 3, 2, 1]


def test_places_without_coordinates_are_refused():
    with pytest.raises(BadInput, match="two finite coordinates"):
        hilbert_order(np.array([[0.0, np.nan]]))
