"""Cells of a grid, for cities that have no areas of their own: squares of the European grid, or hexagons of H3.

INSPIRE D2.8.I.2 (Geographical Grid Systems) divides Europe in EPSG:3035, an equal-area system, into squares whose sides
are powers of ten of metres; Eurostat names a square of one kilometre by its lower left corner in metres:
`CRS3035RES1000mN2689000E4341000`. H3 divides the Earth into hexagons, at each resolution a seventh as large as at the
one before, and names each by 15 digits: `881fb46625fffff`. Neighbouring hexagons are drawn here by the corners that
they share, so that they touch in metres as they do on the sphere. Both are taken whole: every one that the boundary
covers some of.
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
from density_assets.geography.cells import DEGREES, read_frame, transformer, with_crs
from density_assets.geography.cells_and_towers import Cells
from density_assets.geography.overlaps import SLIVER_M2

GRIDS: Mapping[str, int] = {"inspire 1km": 1_000}  # metres of a side
CRS = "EPSG:3035"
MOST = 20_000  # squares: far more than any city, and fewer than a country's


def squares_within(boundary: Any, side: int, path: Path) -> Cells:
    """The squares that a boundary covers more than a sliver of, by northing and then easting.

    boundary: in EPSG:3035. path: of the file it comes from, for messages.
    """
    west, south, east, north = _in_europe(boundary.bounds, path)
    columns = np.arange(int(west // side), int(east // side) + 1) * side
    rows = np.arange(int(south // side), int(north // side) + 1) * side
    if len(columns) * len(rows) > 10 * MOST:
        raise too_many(len(columns) * len(rows), path)
    x, y = (values.ravel() for values in np.meshgrid(columns, rows))
    boxes = shapely.box(x, y, x + side, y + side)
    shapely.prepare(boundary)
    near = np.flatnonzero(shapely.intersects(boundary, boxes))
    covered = near[shapely.area(shapely.intersection(boundary, boxes[near])) > SLIVER_M2]
    if not 0 < len(covered) <= MOST:
        raise too_many(len(covered), path)
    names = [f"CRS3035RES{side}mN{n}E{e}" for n, e in zip(y[covered].tolist(), x[covered].tolist(), strict=True)]
    return Cells(np.array(names, dtype=object), np.asarray(boxes[covered], dtype=object), CRS)


def read_boundary(path: Path, crs: str | None) -> Any:
    """All polygons of a file, in its system.

    crs: of a file that carries none.
    """
    frame = with_crs(read_frame(path, None, "boundary"), crs, path)
    if frame.crs is None or not (frame.crs.is_geographic or frame.crs.is_projected):
        found = "none" if frame.crs is None else f"{frame.crs.name!r}, which says nothing of where on Earth it is"
        raise BadInput(f"{path.name}: the boundary must have a coordinate system, found {found}: give city.cells_crs")
    shapes = np.asarray(frame.geometry.array, dtype=object)
    if not (shapely.is_valid(shapes) & (shapely.get_dimensions(shapes) == 2)).all():  # polygons
        raise BadInput(f"{path.name}: the boundary must be of valid polygons, found others")
    return gpd.GeoSeries(shapes, crs=frame.crs)


def union_of(shapes: Any) -> Any:
    """The union of polygons, in the system of the grid."""
    return shapely.union_all(np.asarray(shapes.to_crs(CRS).array, dtype=object))


def extent_of(points: NDArray[np.float64], crs: str, path: Path) -> Any:
    """The rectangle around antennas, in the system of the grid."""
    change = transformer(crs, CRS, path, "city.tower_crs")
    x, y = change.transform(points[:, 0], points[:, 1])
    return extent(np.min(x), np.min(y), np.max(x), np.max(y))


def extent(west: float, south: float, east: float, north: float) -> Any:
    """The rectangle around points: a single mast has none, so it reaches a metre beyond."""
    return shapely.box(west, south, east, north).buffer(1.0, join_style="mitre")


def _in_europe(bounds: tuple[float, float, float, float], path: Path) -> tuple[float, float, float, float]:
    """The bounds, if they lie where the grid is defined."""
    area = pyproj.CRS(CRS).area_of_use
    back = pyproj.Transformer.from_crs(CRS, DEGREES, always_xy=True)
    west, south, east, north = back.transform_bounds(*bounds) if np.isfinite(bounds).all() else (np.nan,) * 4
    if not (area and area.west <= west and east <= area.east and area.south <= south and north <= area.north):
        raise BadInput(
            f"{path.name}: the INSPIRE grid covers Europe, found a city outside: give city.cells, areas of your own, "
            'or grid = "h3 8"'
        )
    return bounds


def too_many(found: int, path: Path) -> BadInput:
    """What is said of a boundary that is no city's."""
    return BadInput(
        f"{path.name}: a city must have between 1 and {MOST:,} cells of the grid, found {found:,}: give "
        "city.boundary, a file of polygons around the city, or a grid of larger cells"
    )


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
