"""The counts as a GeoPackage that QGIS opens and animates (OGC 12-128r18; SQLite).

Two layers: `cells` with the week of each cell, and `density` with a feature for each cell and hour. Outlines are
stored once: `density` is a view of numbers, outlines and times, so that 168 hours of a cell cost numbers only. Hours
that do not happen are not in it. A style travels in the file, in the table QGIS looks for: which columns hold the start
and end of what a feature shows, so that the temporal controller animates it, and classes of counts with their colours.
"""

import sqlite3
import struct
from collections.abc import Iterable, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import polars as pl
import shapely
from numpy.typing import NDArray

from density_assets.calendar import HOURS, WeekClock
from density_assets.publication.columns import Column, Columns, Kind
from density_assets.publication.files import hour_start
from density_assets.sql_names import quoted

START, END = "time_start", "time_end"  # columns of the layer
COLOURS = ("#ffffe5", "#fee391", "#fe9929", "#ec7014", "#cc4c02", "#662506")  # light to dark, told apart by everybody
SHARES = (0.25, 0.5, 0.75, 0.9, 0.98)  # of all counts that lie below each break
MODE_START_AND_END, BEGIN_WITHOUT_END = "2", "0"  # as QGIS numbers them


def qgis_style(column: str, counts: NDArray[np.int64]) -> str:
    """The style of a layer with one feature per cell and hour, as QML."""
    root = ET.Element("qgis", styleCategories="AllStyleCategories", version="3.34.0")
    _temporal(root)
    breaks = sorted({0.0, *np.quantile(counts, SHARES).round().tolist(), float(counts.max(initial=1))})
    _renderer(root, column, breaks)
    return ET.tostring(root, encoding="unicode")


def _temporal(root: ET.Element) -> None:
    """A feature is shown from its start, and no more at its end."""
    temporal = ET.SubElement(
        root,
        "temporal",
        enabled="1",
        mode=MODE_START_AND_END,
        startField=START,
        endField=END,
        limitMode=BEGIN_WITHOUT_END,
        accumulate="0",
        durationField="",
        durationUnit="h",
        fixedDuration="0",
        startExpression="",
        endExpression="",
    )
    fixed = ET.SubElement(temporal, "fixedRange")
    ET.SubElement(fixed, "start")
    ET.SubElement(fixed, "end")


def _renderer(root: ET.Element, column: str, breaks: Sequence[float]) -> None:
    renderer = ET.SubElement(
        root,
        "renderer-v2",
        type="graduatedSymbol",
        attr=column,
        graduatedMethod="GraduatedColor",
        symbollevels="0",
        enableorderby="0",
        forceraster="0",
    )
    ranges, symbols = ET.SubElement(renderer, "ranges"), ET.SubElement(renderer, "symbols")
    for number, (lower, upper) in enumerate(pairwise(breaks)):
        label = f"{lower:,.0f} to {upper:,.0f}"
        said = {"lower": f"{lower:.0f}", "upper": f"{upper:.0f}", "symbol": str(number), "label": label}
        ET.SubElement(ranges, "range", said, render="true")
        symbol = ET.SubElement(symbols, "symbol", type="fill", name=str(number), alpha="0.8", clip_to_extent="1")
        layer = ET.SubElement(symbol, "layer", {"class": "SimpleFill", "enabled": "1", "locked": "0", "pass": "0"})
        options = ET.SubElement(layer, "Option", type="Map")
        for name, value in {"color": _rgba(number), "style": "solid", "outline_style": "no"}.items():
            ET.SubElement(options, "Option", name=name, type="QString", value=value)


def _rgba(number: int) -> str:
    colour = COLOURS[min(number, len(COLOURS) - 1)]
    return ",".join(str(int(colour[at : at + 2], 16)) for at in (1, 3, 5)) + ",255"


APPLICATION, VERSION = 0x47504B47, 10300  # "GPKG", 1.3
DEGREES = 4326
WRITTEN_BY = 96  # where a database says so, in four bytes that nobody reads (SQLite's file format, 1.3.15)
TYPES: dict[Kind, str] = {"string": "TEXT", "integer": "INTEGER", "number": "REAL", "date": "DATE"}
OF_THE_HOUR = ("cell_id", "hour", "timestamp", "week")  # told by cells and hours
MOMENTS = tuple(
    Column(name, "datetime", f"{which} of the hour, in UTC") for name, which in ((START, "start"), (END, "end"))
)
HEADER = struct.Struct("<2sBBi4d")  # of a geometry: little-endian, with its box
DEFINITION = (
    'GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563,AUTHORITY["EPSG","7030"]],AUTHORITY['
    '"EPSG","6326"]],PRIMEM["Greenwich",0,AUTHORITY["EPSG","8901"]],UNIT["degree",0.0174532925199433,AUTHORITY["EPSG",'
    '"9122"]],AXIS["Latitude",NORTH],AXIS["Longitude",EAST],AUTHORITY["EPSG","4326"]]'
)
SYSTEM_TABLES = """
create table gpkg_spatial_ref_sys (srs_name text not null, srs_id integer primary key, organization text not null,
  organization_coordsys_id integer not null, definition text not null, description text);
create table gpkg_contents (table_name text not null primary key, data_type text not null, identifier text unique,
  description text default '', last_change datetime not null, min_x double, min_y double, max_x double, max_y double,
  srs_id integer, constraint fk_gc_r_srs_id foreign key (srs_id) references gpkg_spatial_ref_sys(srs_id));
create table gpkg_geometry_columns (table_name text not null, column_name text not null, geometry_type_name text,
  srs_id integer not null, z tinyint not null, m tinyint not null,
  constraint pk_geom_cols primary key (table_name, column_name),
  constraint fk_gc_tn foreign key (table_name) references gpkg_contents(table_name),
  constraint fk_gc_srs foreign key (srs_id) references gpkg_spatial_ref_sys(srs_id));
create table gpkg_extensions (table_name text, column_name text, extension_name text not null, definition text not null,
  scope text not null, constraint ge_tce unique (table_name, column_name, extension_name));
create table gpkg_data_columns (table_name text not null, column_name text not null, name text, title text,
  description text, mime_type text, constraint_name text, constraint pk_gdc primary key (table_name, column_name));
create table layer_styles (id integer primary key autoincrement not null, f_table_catalog text(256),
  f_table_schema text(256), f_table_name text(256), f_geometry_column text(256), stylename text(30), styleqml text,
  stylesld text, useasdefault boolean, description text, owner text(30), ui text(30), update_time datetime);
"""


def geopackage(
    outlines: NDArray[Any],
    totals: tuple[pl.DataFrame, Columns],
    counts: tuple[pl.DataFrame, Columns],
    clock: WeekClock,
    title: str,
) -> bytes:
    """The content of the file.

    outlines: of the cells, in degrees. totals: a row per cell, in their order. counts: 168 rows per cell, in their
    order. Both with what describes their columns.
    """
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute(f"pragma application_id = {APPLICATION}")
        connection.execute(f"pragma user_version = {VERSION}")
        connection.executescript(f"begin; {SYSTEM_TABLES}")
        _reference_systems(connection)
        _layers(connection, outlines, clock, title)
        _cells(connection, outlines, *totals)
        _hours(connection, clock)
        _density(connection, *counts)
        _style(connection, counts[0], clock)
        connection.execute("commit")
        return _of_no_library(connection.serialize())


def _of_no_library(content: bytes) -> bytes:
    """A database that does not say which SQLite wrote it: an upgrade of that must not change what is signed."""
    return content[:WRITTEN_BY] + bytes(4) + content[WRITTEN_BY + 4 :]


def _reference_systems(connection: sqlite3.Connection) -> None:
    undefined = [(f"Undefined {kind} SRS", number, "NONE", number, "undefined", None) for number, kind in UNDEFINED]
    known = ("WGS 84 geodetic", DEGREES, "EPSG", DEGREES, DEFINITION, "longitude and latitude in degrees")
    connection.executemany("insert into gpkg_spatial_ref_sys values (?, ?, ?, ?, ?, ?)", [*undefined, known])


UNDEFINED = ((-1, "Cartesian"), (0, "geographic"))


def _layers(connection: sqlite3.Connection, outlines: NDArray[Any], clock: WeekClock, title: str) -> None:
    changed, bounds = _moment(datetime.combine(clock.week, datetime.min.time(), UTC)), shapely.total_bounds(outlines)
    layers = {"density": "visits per cell and hour", "cells": "visits per cell in the week"}
    for name, description in layers.items():
        row = (name, "features", name, f"{title}: {description}", changed, *bounds.tolist(), DEGREES)
        connection.execute("insert into gpkg_contents values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        column = (name, "geom", "MULTIPOLYGON", DEGREES, 0, 0)
        connection.execute("insert into gpkg_geometry_columns values (?, ?, ?, ?, ?, ?)", column)
    styles = ("layer_styles", "attributes", "layer_styles", "how QGIS shows the layers", changed)
    connection.execute("insert into gpkg_contents values (?, ?, ?, ?, ?, null, null, null, null, 0)", styles)
    schema = ("gpkg_data_columns", "gpkg_schema", "http://www.geopackage.org/spec/#extension_schema", "read-write")
    connection.execute("insert into gpkg_extensions values (?, null, ?, ?, ?)", schema)


def _cells(connection: sqlite3.Connection, outlines: NDArray[Any], totals: pl.DataFrame, columns: Columns) -> None:
    shapes = [_geometry(outline) for outline in outlines]
    dated = totals.with_columns(pl.col(pl.Date).dt.to_string())
    rows = ((number, shape, *row) for number, (shape, row) in enumerate(zip(shapes, dated.rows(), strict=True), 1))
    _table(connection, "cells", [("geom", "MULTIPOLYGON"), *_typed(columns)], rows)
    _describe(connection, "cells", columns)


def _hours(connection: sqlite3.Connection, clock: WeekClock) -> None:
    """When each hour starts and ends; one that happens twice lasts for two."""
    starts = [hour_start(clock, hour) for hour in range(HOURS + 1)]
    rows = []
    for hour, start in enumerate(starts[:HOURS]):
        if start is not None:
            end = next((later for later in starts[hour + 1 :] if later), start + timedelta(hours=1))
            rows.append((hour + 1, hour, _moment(start), _moment(end)))
    _table(connection, "hours", [("hour", "INTEGER"), (START, "DATETIME"), (END, "DATETIME")], rows)


def _density(connection: sqlite3.Connection, counts: pl.DataFrame, columns: Columns) -> None:
    """The numbers as a table, and the layer as a view of it; QGIS and GDAL take `OGC_FID` for its key."""
    own = [column for column in columns if column.name not in OF_THE_HOUR]
    rows = np.arange(len(counts))
    keys = (rows + 1, rows // HOURS + 1, rows % HOURS)
    numbers = [*(key.tolist() for key in keys), *(counts[column.name].to_list() for column in own)]
    _table(connection, "counts", [("cell", "INTEGER"), ("hour", "INTEGER"), *_typed(own)], zip(*numbers, strict=True))
    chosen = ", ".join(f"counts.{quoted(column.name)}" for column in own)
    connection.execute(
        "create view density as select counts.fid as OGC_FID, cells.geom as geom, "  # noqa: S608  # names of ours
        "cells.cell_id, cells.week, hours.hour,"
        f" hours.{START}, hours.{END}, {chosen}"
        " from counts join cells on cells.fid = counts.cell join hours on hours.hour = counts.hour"
    )
    _describe(connection, "density", (*(column for column in columns if column.name != "timestamp"), *MOMENTS))


def _style(connection: sqlite3.Connection, counts: pl.DataFrame, clock: WeekClock) -> None:
    changed = _moment(datetime.combine(clock.week, datetime.min.time(), UTC))
    row = ("density", "geom", "visits", qgis_style("count", counts["count"].to_numpy()), "visits hour by hour", changed)
    connection.execute(
        "insert into layer_styles (f_table_catalog, f_table_schema, f_table_name, f_geometry_column, stylename, "
        "styleqml, stylesld, useasdefault, description, owner, ui, update_time) "
        "values ('', '', ?, ?, ?, ?, '', 1, ?, '', null, ?)",
        row,
    )


def _typed(columns: Iterable[Column]) -> list[tuple[str, str]]:
    return [(column.name, TYPES[column.kind]) for column in columns]


def _table(
    connection: sqlite3.Connection, name: str, columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[Any]]
) -> None:
    """A table with a key of its own."""
    defined = ", ".join(f"{quoted(column)} {kind}" for column, kind in columns)
    connection.execute(f"create table {quoted(name)} (fid integer primary key not null, {defined})")
    values = ", ".join("?" * (len(columns) + 1))
    connection.executemany(f"insert into {quoted(name)} values ({values})", rows)  # noqa: S608  # quoted


def _describe(connection: sqlite3.Connection, layer: str, columns: Iterable[Column]) -> None:
    """What columns mean, as the schema extension keeps it."""
    rows = [(layer, column.name, column.name, column.meaning) for column in columns]
    connection.executemany("insert into gpkg_data_columns values (?, ?, null, ?, ?, null, null)", rows)


def _geometry(outline: Any) -> bytes:
    """An outline as GeoPackage keeps it: a header with its box, then well-known binary."""
    shape = outline if outline.geom_type == "MultiPolygon" else shapely.MultiPolygon([outline])
    west, south, east, north = shape.bounds
    header = HEADER.pack(b"GP", 0, 0b11, DEGREES, west, east, south, north)
    return header + shapely.to_wkb(shape, byte_order=1)


def _moment(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
