"""Identifiers that GDAL would cut without a word: to it every text ends at the first NUL."""

import sqlite3
from contextlib import closing
from pathlib import Path

from density_assets.errors import BadInput
from density_assets.sql_names import quoted

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
