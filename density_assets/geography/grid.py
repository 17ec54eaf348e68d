"""Squares of the European grid as cells, for cities that have no areas of their own.

INSPIRE D2.8.I.2 (Geographical Grid Systems) divides Europe in EPSG:3035, an equal-area system, into squares whose sides
are powers of ten of metres; Eurostat names a square of one kilometre by its lower left corner in metres:
`CRS3035RES1000mN2689000E4341000`. Squares are taken whole: every one that the boundary covers some of.
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
from density_assets.geography.cells import read_frame
from density_assets.geography.cells_and_towers import Cells
from density_assets.geography.coordinate_systems import DEGREES, transformer, with_crs
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
