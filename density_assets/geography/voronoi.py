"""Tower cells: the part of the city nearer to one tower than to any other (Acs & Castelluccia 2014, §5.2)."""

from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

POLYGON_DIMENSION = 2


def tower_cells(xy: NDArray[np.float64], city: Any) -> NDArray[np.object_]:
    """Voronoi cells of the points clipped to the city, in the order of the points.

    xy: distinct positions, shape (towers, 2), in the coordinate system of the city.
    city: polygon or multipolygon; a cell is a multipolygon where the city's border cuts it in pieces.
    """
    if len(xy) == 0:
        raise ValueError("a city needs at least one tower to be divided into tower cells, got none")
    diagram = shapely.voronoi_polygons(shapely.multipoints(xy), extend_to=city, ordered=True)
    return _clipped(shapely.get_parts(diagram), city)


def _clipped(polygons: NDArray[np.object_], city: Any) -> NDArray[np.object_]:
    """The polygons cut at the border of the city."""
    # Only cells at the border meet its thousands of vertices: on Paris 99 of 1,355.
    shapely.prepare(city)
    crossing = np.flatnonzero(~shapely.contains_properly(city, polygons))
    clipped = polygons.copy()
    clipped[crossing] = [_polygonal(part) for part in shapely.intersection(polygons[crossing], city)]
    return clipped


def _polygonal(geometry: Any) -> Any:
    """The geometry without the points and lines left where a cell only touches the city's border."""
    if geometry.geom_type != "GeometryCollection":
        return geometry
    parts = shapely.get_parts(geometry)
    return shapely.union_all(parts[shapely.get_dimensions(parts) == POLYGON_DIMENSION])
