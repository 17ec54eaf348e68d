"""Cells small enough to travel in a page: simplified together, then put on a grid of whole metres.

Simplifying the cells as one coverage moves a shared border once, so neighbours still touch; rounding keeps that,
since equal points round alike.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

TOLERANCE_M = 5.0
Ring = list[int]


@dataclass(frozen=True)
class Outlines:
    """The cells in screen axes: whole metres from the north-west corner, x to the east, y to the south.

    rings: for each cell its rings, outer and holes alike, each as x, y of the first point and then the steps to the
        next ones. The last point is not repeated: a ring closes on its first point.
    """

    width: int
    height: int
    rings: list[list[Ring]]


def outlines(polygons: NDArray[np.object_], tolerance: float = TOLERANCE_M) -> Outlines:
    """Simplify by about `tolerance` metres and quantise; a cell too small to survive that keeps its full shape."""
    west, south, east, north = shapely.total_bounds(polygons)
    simple = np.asarray(shapely.coverage_simplify(polygons, tolerance), dtype=object)
    shapes = np.where(shapely.is_empty(simple), polygons, simple)
    rings = [[_steps(ring, west, north) for ring in _rings(shape)] for shape in shapes]
    return Outlines(int(np.ceil(east - west)), int(np.ceil(north - south)), rings)


def ring_points(ring: Ring) -> NDArray[np.int64]:
    """The points of a ring, shape (points, 2): what the page's script does before it draws."""
    return np.cumsum(np.reshape(ring, (-1, 2)), axis=0)


def _rings(polygon: Any) -> list[Any]:
    return [ring for part in shapely.get_parts(polygon) for ring in (part.exterior, *part.interiors)]


def _steps(ring: Any, west: float, north: float) -> Ring:
    """Round the ring, drop what rounding made equal and the closing point, and take differences."""
    open_ring = shapely.get_coordinates(ring)[:-1]
    points = np.rint((open_ring - (west, north)) * (1, -1)).astype(np.int64)
    moved = np.any(points != np.roll(points, 1, axis=0), axis=1)
    moved[0] |= not moved.any()
    steps = np.diff(points[moved], axis=0, prepend=np.zeros((1, 2), dtype=np.int64))
    return [int(step) for step in steps.ravel()]
