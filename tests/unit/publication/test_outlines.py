"""Outlines on whole metres: they close, keep holes and parts, and neighbours still touch."""

import numpy as np
import pytest
import shapely
from shapely import MultiPolygon, Polygon, box
from shapely.affinity import translate

from density_assets.geography.source import embedded_city
from density_assets.publication.pages.page import outlines

WEST, SOUTH = 650_000.0, 6_860_000.0


def cells(*polygons):
    """Polygons moved to where metric coordinates usually lie."""
    return np.array([translate(polygon, WEST, SOUTH) for polygon in polygons], dtype=object)


def ring_points(ring: list[int]) -> np.ndarray:
    """The points of a ring, shape (points, 2): what the page's script does before it draws."""
    return np.cumsum(np.reshape(ring, (-1, 2)), axis=0)


def test_a_square_is_its_corner_and_the_steps_around_it():
    made = outlines(cells(box(0, 0, 100, 50)))
    (ring,) = made.rings[0]
    assert (made.width, made.height) == (100, 50)
    assert sorted(map(tuple, ring_points(ring).tolist())) == [(0, 0), (0, 50), (100, 0), (100, 50)]


def test_north_is_up():
    made = outlines(cells(box(0, 0, 10, 100), box(0, 300, 10, 400)))
    south, north = (ring_points(rings[0])[:, 1] for rings in made.rings)
    assert north.max() == 100
    assert south.min() == 300


def test_parts_and_holes_are_rings_of_their_cell():
    holed = Polygon(box(0, 0, 100, 100).exterior, [box(40, 40, 60, 60).exterior])
    made = outlines(cells(MultiPolygon([holed, box(200, 0, 300, 100)])))
    assert [len(ring_points(ring)) for ring in made.rings[0]] == [4, 4, 4]


def test_points_within_the_tolerance_go():
    wavy = Polygon([(0, 0), (100, 0), (100, 100), (50, 100.5), (0, 100)])
    assert len(ring_points(outlines(cells(wavy)).rings[0][0])) == 4


@pytest.mark.parametrize("side", [3.0, 0.4])
def test_even_the_smallest_cell_has_an_outline(side):
    made = outlines(cells(box(0, 0, 100, 100), box(200, 200, 200 + side, 200 + side)))
    assert len(made.rings[1][0]) >= 2


def test_the_city_closes_without_gaps_or_overlaps():
    polygons = embedded_city(cells=60, towers=5)[0].polygons
    made = outlines(polygons)
    drawn = [Polygon(ring_points(rings[0])) for rings in made.rings]
    area = sum(polygon.area for polygon in drawn)
    union = shapely.union_all(drawn)
    outer = sum(Polygon(part.exterior).area for part in shapely.get_parts(union))
    assert all(polygon.is_valid for polygon in drawn)
    assert area == pytest.approx(union.area, rel=1e-4)
    assert outer == pytest.approx(union.area, rel=1e-4)
    assert area == pytest.approx(shapely.area(polygons).sum(), rel=1e-3)
