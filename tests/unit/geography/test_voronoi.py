"""Tower cells: a partition of the city, each part nearest to its own tower."""

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from density_assets.geography.overlaps import tower_cells

SQUARE = shapely.box(0, 0, 100, 100)
points = st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)), min_size=1, max_size=12, unique=True)


def cells_of(xy, city=SQUARE):
    return tower_cells(np.array(xy, dtype=float), city)


def test_one_tower_has_the_whole_city():
    (cell,) = cells_of([(30, 40)])
    assert cell.equals(SQUARE)


def test_two_towers_share_the_city_along_their_bisector():
    left, right = cells_of([(20, 50), (60, 50)])
    assert left.equals(shapely.box(0, 0, 40, 100))
    assert right.equals(shapely.box(40, 0, 100, 100))


def test_collinear_towers_cut_the_city_in_strips_in_the_order_of_the_points():
    cells = cells_of([(50, 10), (10, 10), (90, 10)])
    assert [cell.bounds for cell in cells] == [(30, 0, 70, 100), (0, 0, 30, 100), (70, 0, 100, 100)]


def test_a_cell_surrounded_by_others_is_not_cut():
    cells = cells_of([(50, 50), (10, 50), (90, 50), (50, 10), (50, 90)])
    assert cells[0].equals(shapely.box(30, 30, 70, 70))


def test_cells_reach_the_ends_of_a_city_far_larger_than_the_towers_spread():
    cells = cells_of([(49, 50), (51, 50), (50, 52)], shapely.box(-1e5, -1e5, 1e5, 1e5))
    assert shapely.area(cells).sum() == pytest.approx(4e10)


def test_a_cell_in_two_parts_of_the_city_is_a_multipolygon():
    city = shapely.union(shapely.box(0, 0, 10, 100), shapely.box(20, 0, 30, 100))
    (cell,) = cells_of([(5, 5)], city)
    assert cell.geom_type == "MultiPolygon"
    assert cell.area == 2000


def test_a_border_that_only_touches_a_cell_leaves_no_line_in_it():
    # The bisector x = 20 is also the left border of the second island.
    city = shapely.union(shapely.box(0, 0, 10, 100), shapely.box(20, 0, 30, 100))
    left, right = cells_of([(10, 50), (30, 50)], city)
    assert left.equals(shapely.box(0, 0, 10, 100))
    assert right.equals(shapely.box(20, 0, 30, 100))
    assert {left.geom_type, right.geom_type} == {"Polygon"}


def test_no_tower_is_an_error():
    with pytest.raises(ValueError, match="at least one tower"):
        tower_cells(np.empty((0, 2)), SQUARE)


@settings(deadline=None, max_examples=60)
@given(points)
def test_cells_part_the_city_and_hold_the_places_nearest_to_their_tower(xy):
    cells = cells_of(xy)
    assert shapely.area(cells).sum() == pytest.approx(SQUARE.area)
    places = np.array([(x, y) for x in range(3, 100, 13) for y in range(3, 100, 13)], dtype=float)
    nearest = np.linalg.norm(places[:, None] - np.array(xy)[None], axis=2).argmin(axis=1)
    assert shapely.dwithin(cells[nearest], shapely.points(places), 1e-6).all()
