"""Pictures of errors hide nothing: no line is cut off, no outlying cell left out, no bad cell blank."""

import numpy as np
import pytest
import shapely
from matplotlib.colors import to_rgba

from density_assets.publication.pictures import UNDEFINED, boxes_over, errors_over_week, metric_maps


def test_lines_of_all_sizes_lie_within_the_picture():
    lines = {"good": np.full(168, 0.1), "bad": np.linspace(1, 500, 168)}
    for axes in errors_over_week(lines, lines).axes:
        bottom, top = axes.get_ylim()
        assert bottom < 0.1
        assert top > 500
        assert axes.get_yscale() == "log"


def test_cells_with_a_large_error_are_shown():
    values = np.append(np.full(100, 0.2), 9.0)
    (axes,) = boxes_over({"mre": {"scheme": {0.3: values}}}).axes
    assert any(9.0 in line.get_ydata() for line in axes.lines)


@pytest.fixture
def colours():
    """Of cells that are best, worst and undefined, on the maps of MRE and of PC."""
    squares = np.array([shapely.box(x, 0, x + 1, 1) for x in range(3)])
    maps = {"scheme": {"MRE": np.array([0.01, 1.0, np.nan]), "PC": np.array([1.0, -0.3, np.nan])}}
    figure = metric_maps(squares, maps)
    figure.draw_without_rendering()
    return [axes.collections[0].get_facecolor() for axes in figure.axes[:2]]


def test_good_cells_have_one_colour_on_maps_of_errors_and_of_correlations(colours):
    errors, correlations = colours
    np.testing.assert_allclose(errors[0], correlations[0])
    np.testing.assert_allclose(errors[1], correlations[1])
    assert not np.allclose(errors[0], errors[1])


def test_a_cell_that_is_wrong_does_not_look_like_one_without_data(colours):
    for faces in colours:
        np.testing.assert_allclose(faces[2], to_rgba(UNDEFINED))
        assert not np.allclose(faces[1], faces[2])
