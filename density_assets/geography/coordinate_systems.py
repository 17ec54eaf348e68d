"""The coordinate system of a file of areas: the one it carries, or the one that settings give where it carries none.

GeoParquet that names none means longitude and latitude, says its standard; many programs forget to name theirs. So
settings may say what it is, and are believed only where the file says nothing.
"""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pyproj

from density_assets.errors import BadInput
from density_assets.geography.lists import is_parquet, public_files

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
