"""Hexagons of H3 as cells, for cities anywhere that have no areas of their own.

H3 divides the Earth into hexagons, at each resolution a seventh as large as at the one before, and names each by 15
digits: `881fb46625fffff`. Neighbours are drawn here by the corners that they share, so that they touch in metres as
they do on the sphere. Hexagons are taken whole: every one that the boundary covers some of.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pyproj
import shapely
from numpy.typing import NDArray

from density_assets.errors import BadInput
from density_assets.geography.cells_and_towers import Cells
from density_assets.geography.coordinate_systems import DEGREES
from density_assets.geography.grid import MOST, extent, too_many
from density_assets.geography.overlaps import SLIVER_M2

RESOLUTIONS: Mapping[str, int] = {"h3 7": 7, "h3 8": 8, "h3 9": 9}  # of about 5, 0.7 and 0.1 km²
EDGE_M = 100.0  # a straight edge in metres is a curve in degrees, in which H3 looks for hexagons
WIDEST = 90.0  # degrees: what is wider lies on both sides of the 180th meridian


def hexagons_within(shapes: Any, resolution: int, path: Path) -> Cells:
    """The hexagons that a boundary covers more than a sliver of, by name, in metres of the boundary's UTM zone.

    shapes: the polygons of the boundary; of points the rectangle around them. path: of their file, for messages.
    """
    metric = _zone(shapes, path)
    boundary = _boundary(np.asarray(shapes.to_crs(metric).array, dtype=object))
    names = np.array(_near(boundary, metric, resolution, path), dtype=object)
    polygons = np.asarray(gpd.GeoSeries([_polygon(name) for name in names], crs=DEGREES).to_crs(metric), dtype=object)
    covered = np.flatnonzero(shapely.area(shapely.intersection(boundary, polygons)) > SLIVER_M2)
    if not 0 < len(covered) <= MOST:
        raise too_many(len(covered), path)
    return Cells(names[covered], polygons[covered], metric.to_string())


def _zone(shapes: Any, path: Path) -> Any:
    try:
        return shapes.estimate_utm_crs()
    except (pyproj.exceptions.ProjError, RuntimeError, ValueError):
        raise BadInput(f"{path.name}: a city of hexagons must lie where a UTM zone is, found none for it") from None


def _boundary(shapes: NDArray[np.object_]) -> Any:
    if (shapely.get_dimensions(shapes) == 2).all():  # polygons
        return shapely.union_all(shapes)
    return extent(*shapely.total_bounds(shapes).tolist())


def _near(boundary: Any, metric: pyproj.CRS, resolution: int, path: Path) -> list[str]:
    """Names of all hexagons in and around a boundary, sorted."""
    h3 = _library()
    expected = int(boundary.area / h3.average_hexagon_area(resolution, unit="m^2"))
    (shape,) = gpd.GeoSeries([shapely.segmentize(boundary, EDGE_M)], crs=metric).to_crs(DEGREES)
    west, _, east, _ = shape.bounds
    if expected > 10 * MOST or not east - west < WIDEST:
        raise too_many(expected, path)
    inside = h3.h3shape_to_cells_experimental(h3.geo_to_h3shape(shape), resolution, contain="overlap")
    return sorted({name for cell in inside for name in h3.grid_disk(cell, 1)})


def _polygon(name: str) -> Any:
    h3 = _library()
    corners = (h3.vertex_to_latlng(corner) for corner in h3.cell_to_vertexes(name))
    return shapely.Polygon([(longitude, latitude) for latitude, longitude in corners])


def _library() -> Any:
    try:
        import h3
    except ImportError:
        raise BadInput(
            "city.grid with h3 needs the package h3, which is not here: pip install 'density-assets[h3]'"
        ) from None
    return h3
