"""Read the cells of a city from any polygon file GeoPandas reads, and refuse what cannot be a partition.

The coordinate system is the one a file carries, or the one that settings give where it carries none. GeoParquet that
names none means longitude and latitude, says its standard; many programs forget to name theirs. To GDAL every text ends
at the first NUL, so an identifier that holds one is refused before GDAL cuts it.
"""

import json
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pyproj
import shapely
from numpy.typing import NDArray

from density_assets.errors import BadInput, missing_column, some
from density_assets.geography.cells_and_towers import Cells
from density_assets.geography.lists import is_parquet, public_files, refuse_formulas, refuse_unprintable
from density_assets.sql_names import quoted

DEGREES = "EPSG:4326"  # longitude and latitude


def known_crs(crs: str, path: Path, what: str) -> pyproj.CRS:
    """A coordinate system by its name; refused if pyproj knows none."""
    try:
        return pyproj.CRS(crs)
    except pyproj.exceptions.ProjError:
        raise _unknown(crs, path, what) from None


def transformer(crs: str, metric: str, path: Path, what: str) -> pyproj.Transformer:
    """From a coordinate system, by its name, to a metric one; refused if pyproj knows no way, as out of a local one."""
    try:
        return pyproj.Transformer.from_crs(crs, metric, always_xy=True)
    except pyproj.exceptions.ProjError:
        raise _unknown(crs, path, what) from None


def _unknown(crs: str, path: Path, what: str) -> BadInput:
    return BadInput(f"{path.name}: {what} must be one pyproj knows, such as {DEGREES}, got {crs!r}")


def with_crs(frame: Any, crs: str | None, path: Path) -> Any:
    """The areas with the system that settings give, if the file carries none; refused if it carries another."""
    if crs is None:
        return frame
    given = known_crs(crs, path, "city.cells_crs")
    if frame.crs is None or _undefined(frame.crs) or not _names_one(path):
        return frame.set_crs(given, allow_override=True)
    if not frame.crs.equals(given, ignore_axis_order=True):
        raise BadInput(
            f"{path.name}: city.cells_crs is for files that carry no coordinate system, got {crs}, but this one "
            f"carries {frame.crs.to_string()!r}: leave city.cells_crs away, or write the file again with the right one"
        )
    return frame


def _undefined(crs: pyproj.CRS) -> bool:
    """GeoPackages have a row for each way not to know."""
    return not (crs.is_geographic or crs.is_projected) or crs.name.lower().startswith("undefined")


def _names_one(path: Path) -> bool:
    """Whether a file says which system it is in; only GeoParquet may mean one without a word."""
    files = [file for file in public_files(path) if is_parquet(file)]
    return all(_named_in(file) for file in files)


def _named_in(file: Path) -> bool:
    about = json.loads((pq.read_schema(file).metadata or {})[b"geo"])
    return "crs" in about["columns"][about["primary_column"]]


JSON_SUFFIXES = {".geojson", ".json"}
PACKAGE_SUFFIXES = {".gpkg"}


def refuse_cut_text(path: Path, column: str) -> None:
    """Raise if a GeoJSON file holds a NUL, or a column of a GeoPackage; in shapefiles it ends a text by right."""
    suffix = path.suffix.lower()
    if (suffix in JSON_SUFFIXES and _in_json(path)) or (suffix in PACKAGE_SUFFIXES and _in_package(path, column)):
        raise BadInput(f"{path.name}: ids in {column!r} must not hold a NUL, found one: the id would be cut there")


def _in_json(path: Path) -> bool:
    content = path.read_bytes()
    return b"\\u0000" in content or b"\0" in content


def _in_package(path: Path, column: str) -> bool:
    """GeoPackages are SQLite databases; their tables of features are listed in `gpkg_contents`."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as package:
        for (table,) in package.execute("select table_name from gpkg_contents").fetchall():
            columns = [name for _, name, *_ in package.execute(f"pragma table_info({quoted(table)})")]
            if column in columns:
                first = f"select max(instr(cast({quoted(column)} as blob), x'00')) from {quoted(table)}"  # noqa: S608  # quoted
                return bool(package.execute(first).fetchone()[0])
    return False


POLYGON_TYPES = [shapely.GeometryType.POLYGON, shapely.GeometryType.MULTIPOLYGON]
OVERLAP_M2 = 1.0
EARTH_M = 1e8  # no projection of the Earth is larger
# A straight edge in degrees is a curve in metres. Neighbours that draw their common edge through different
# vertices would seem to overlap once projected; vertices every 20 m or so keep that below 0.1 m² per 10 km.
EDGE_DEGREES = 0.0002


def read_cells(path: Path, cell_id: str, crs: str | None = None) -> Cells:
    """Read the cells of a city: GeoPackage, GeoJSON, shapefile, GeoParquet or a folder of it.

    cell_id: the column that identifies a cell; whole numbers become text.
    crs: the coordinate system of a file that carries none; a file that carries another is refused.
    Cells keep their own coordinate system if it is in metres, else they move to the estimated UTM zone.
    """
    frame = with_crs(read_frame(path, cell_id, "cells"), crs, path)
    columns = [str(column) for column in frame.columns if column != frame.geometry.name]
    if cell_id not in columns:
        raise missing_column(path, "cell_id", cell_id, columns)
    if len(frame) == 0:
        raise BadInput(f"{path.name}: a city must have at least one cell, found none")
    ids = _ids(frame[cell_id], path)
    polygons = shapely.force_2d(np.asarray(frame.geometry.array, dtype=object))
    _check_polygons(polygons, ids, path)
    cells = _in_metres(ids, polygons, frame.crs, path)
    _check_on_earth(cells, path)
    _check_disjoint(cells, path)
    return cells


def read_frame(path: Path, column: str | None, what: str) -> Any:
    """The file as a GeoDataFrame.

    column: that identifies its areas, if any does. what: what they are, for messages.
    """
    if not path.exists():
        raise BadInput(f"{path}: the file of the {what} must exist, found nothing there")
    try:
        if column is not None:
            refuse_cut_text(path, column)
        frame = _geoparquet(path) if _is_geoparquet(path) else gpd.read_file(path)
    except BadInput:
        raise
    # GDAL, GEOS, Arrow and pandas raise anything at files they cannot make sense of, IndexError included.
    except Exception as error:
        raise BadInput(
            f"{path.name}: the {what} must be a file GeoPandas reads "
            f"(GeoPackage, GeoJSON, shapefile, GeoParquet), got: {str(error)[:200] or type(error).__name__}"
        ) from None
    if not isinstance(frame, gpd.GeoDataFrame):
        raise BadInput(
            f"{path.name}: the {what} must have a geometry, found only the columns {some(frame)}: give polygons"
        )
    return frame


def _is_geoparquet(path: Path) -> bool:
    """Whether it is a file of GeoParquet, or a folder of such files; what GDAL calls a folder has a suffix."""
    return is_parquet(path) or (path.is_dir() and not path.suffix)


def _geoparquet(path: Path) -> Any:
    parts = [gpd.read_parquet(file) for file in public_files(path)]
    return pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]


def _ids(column: Any, path: Path) -> NDArray[np.object_]:
    """The identifiers as text, all there and all different."""
    missing = np.flatnonzero(column.isna() | (column.astype(str).str.strip() == ""))
    if len(missing):
        raise BadInput(
            f"{path.name}: every cell must have an id in {column.name!r}, "
            f"found {len(missing)} without (rows {some(missing + 1)})"
        )
    ids = [_text(value) for value in column]
    unusable = [value for value, text in zip(column, ids, strict=True) if text is None]
    if unusable:
        raise BadInput(
            f"{path.name}: ids in {column.name!r} must be text or whole numbers, "
            f"found {len(unusable)} others: {some(unusable)}"
        )
    repeated = [text for text, times in Counter(ids).items() if times > 1]
    if repeated:
        raise BadInput(
            f"{path.name}: ids in {column.name!r} must be unique, "
            f"found {len(repeated)} used more than once: {some(repeated)}"
        )
    refuse_unprintable(ids, path, str(column.name))
    refuse_formulas(ids, path, str(column.name))
    return np.array(ids, dtype=object)


def _text(value: object) -> str | None:
    """An identifier as text, None if it is neither text nor a whole number."""
    if isinstance(value, str):
        return value
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return str(value)
    # Shapefiles and spreadsheets often store whole numbers as floats: 75101, never "75101.0".
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return None


def _check_polygons(polygons: NDArray[np.object_], ids: NDArray[np.object_], path: Path) -> None:
    """Every cell must be one valid polygon or multipolygon."""
    empty = shapely.is_missing(polygons) | shapely.is_empty(polygons)
    if empty.any():
        raise BadInput(f"{path.name}: every cell must have a polygon, found {empty.sum()} without: {some(ids[empty])}")
    other = ~np.isin(shapely.get_type_id(polygons), POLYGON_TYPES)
    if other.any():
        kinds = [f"{name} ({shape.geom_type})" for name, shape in zip(ids[other], polygons[other], strict=True)]
        raise BadInput(
            f"{path.name}: every cell must be a polygon or multipolygon, found {other.sum()} others: {some(kinds)}"
        )
    invalid = ~shapely.is_valid(polygons)
    if invalid.any():
        reasons = shapely.is_valid_reason(polygons[invalid])
        named = [f"{name} ({reason})" for name, reason in zip(ids[invalid], reasons, strict=True)]
        raise BadInput(
            f"{path.name}: every polygon must be valid, found {invalid.sum()} invalid: {some(named)}; "
            "repair them (e.g. shapely.make_valid) and try again"
        )


def _in_metres(ids: NDArray[np.object_], polygons: NDArray[np.object_], crs: Any, path: Path) -> Cells:
    """The cells in their own coordinate system if its unit is the metre, else in their UTM zone."""
    if crs is None or not (crs.is_geographic or crs.is_projected):
        found = "none" if crs is None else f"{crs.name!r}, which says nothing of where on Earth they are"
        raise BadInput(
            f"{path.name}: the cells must have a coordinate system, found {found}; "
            "state it as city.cells_crs, or write the file again with its CRS (for a shapefile, add the .prj)"
        )
    if crs.is_projected and all(axis.unit_conversion_factor == 1.0 for axis in crs.axis_info[:2]):
        return Cells(ids=ids, polygons=polygons, crs=crs.to_string())
    if crs.is_geographic:
        _check_degrees(polygons, crs, path)
        polygons = shapely.segmentize(polygons, EDGE_DEGREES)
    shapes = gpd.GeoSeries(polygons, crs=crs)
    try:
        utm = shapes.estimate_utm_crs()
        moved = np.asarray(shapes.to_crs(utm).array, dtype=object)
    except (pyproj.exceptions.ProjError, RuntimeError, ValueError):
        raise BadInput(
            f"{path.name}: the cells must lie where a UTM zone is, found none for {crs.name!r}; "
            "write the file again in a projected coordinate system"
        ) from None
    return Cells(ids=ids, polygons=moved, crs=utm.to_string())


def _check_degrees(polygons: NDArray[np.object_], crs: pyproj.CRS, path: Path) -> None:
    """GeoJSON is read as degrees whatever is in it, so metres in it must be caught here."""
    west, south, east, north = shapely.total_bounds(polygons)
    if west < -180 or east > 180 or south < -90 or north > 90:
        raise BadInput(
            f"{path.name}: coordinates in {crs.to_string()} must be degrees, "
            f"found x {west:,.1f} to {east:,.1f} and y {south:,.1f} to {north:,.1f}; "
            "write the file again with the CRS its coordinates are in"
        )


def _check_on_earth(cells: Cells, path: Path) -> None:
    """A projection returns infinity where it is not defined, and files may hold any number."""
    bounds = shapely.total_bounds(cells.polygons)
    if not (np.abs(bounds) < EARTH_M).all():
        raise BadInput(
            f"{path.name}: coordinates in {cells.crs} must be metres on Earth, "
            f"found x {bounds[0]:.3g} to {bounds[2]:.3g} and y {bounds[1]:.3g} to {bounds[3]:.3g}; "
            "write the file again with the CRS its coordinates are in"
        )


def _check_disjoint(cells: Cells, path: Path) -> None:
    """A visit must not count in two cells, so no two may overlap by more than OVERLAP_M2."""
    # One union, which is needed anyway, clears a clean partition without looking at pairs.
    if cells.areas.sum() - cells.city.area <= OVERLAP_M2:
        return
    one, other = shapely.STRtree(cells.polygons).query(cells.polygons, predicate="intersects")
    one, other = one[one < other], other[one < other]
    area = shapely.area(shapely.intersection(cells.polygons[one], cells.polygons[other]))
    worst = [pair for pair in np.argsort(-area, kind="stable") if area[pair] > OVERLAP_M2]
    if worst:
        named = [f"{cells.ids[one[p]]} and {cells.ids[other[p]]} ({area[p]:,.0f} m²)" for p in worst]
        raise BadInput(
            f"{path.name}: cells must not overlap by more than {OVERLAP_M2:g} m², "
            f"found {len(worst)} pairs that do: {some(named)}"
        )
