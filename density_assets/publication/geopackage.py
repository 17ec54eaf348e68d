"""The counts as a GeoPackage that QGIS opens and animates (OGC 12-128r18; SQLite).

Two layers: `cells` with the week of each cell, and `density` with a feature for each cell and hour. Outlines are
stored once: GDAL writes `cells`, and `density` is a view of numbers, outlines and times, so that 168 hours of a cell
cost numbers only. Hours that do not happen are not in it. A style travels in the file, in the table QGIS looks for:
which columns hold the start and end of what a feature shows, so that the temporal controller animates it, and classes
of counts with their colours.
"""

import io
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import polars as pl
import pyogrio
import shapely
from numpy.typing import NDArray

from density_assets.calendar import HOURS, WeekClock
from density_assets.geography.cells import DEGREES
from density_assets.publication.columns import Columns, Kind, PublishedColumn
from density_assets.publication.files import hour_start
from density_assets.sql_names import quoted

START, END = "time_start", "time_end"  # columns of the layer `density`
MOMENTS = tuple(
    PublishedColumn(name, "datetime", f"{which} of the hour, in UTC")
    for name, which in ((START, "start"), (END, "end"))
)
TYPES: dict[Kind, str] = {"string": "TEXT", "integer": "INTEGER", "number": "REAL", "date": "DATE"}
OF_THE_HOUR = ("cell_id", "hour", "timestamp", "week")  # told by cells and hours
DESCRIPTIONS_AND_STYLES = """
create table gpkg_extensions (table_name text, column_name text, extension_name text not null, definition text not null,
  scope text not null, constraint ge_tce unique (table_name, column_name, extension_name));
create table gpkg_data_columns (table_name text not null, column_name text not null, name text, title text,
  description text, mime_type text, constraint_name text, constraint pk_gdc primary key (table_name, column_name));
create table layer_styles (id integer primary key autoincrement not null, f_table_catalog text(256),
  f_table_schema text(256), f_table_name text(256), f_geometry_column text(256), stylename text(30), styleqml text,
  stylesld text, useasdefault boolean, description text, owner text(30), ui text(30), update_time datetime);
insert into gpkg_extensions values ('gpkg_data_columns', null, 'gpkg_schema',
  'http://www.geopackage.org/spec/#extension_schema', 'read-write');
insert into gpkg_contents (table_name, data_type, identifier, description, srs_id)
  values ('layer_styles', 'attributes', 'layer_styles', 'how QGIS shows the layers', 0);
"""
# A second layer with the outlines, and so with the extent and reference system, of the first.
DENSITY_LAYER = """
insert into gpkg_contents select 'density', data_type, 'density', ?, last_change, min_x, min_y, max_x, max_y, srs_id
  from gpkg_contents where table_name = 'cells';
insert into gpkg_geometry_columns select 'density', column_name, geometry_type_name, srs_id, z, m
  from gpkg_geometry_columns where table_name = 'cells';
"""
HEADER_SIZE, CHANGE_COUNTERS = 100, (24, 92)  # SQLite's file format, 1.3
COLOURS = ("#ffffe5", "#fee391", "#fe9929", "#ec7014", "#cc4c02", "#662506")  # light to dark, told apart by everybody
SHARES = (0.25, 0.5, 0.75, 0.9, 0.98)  # of all counts that lie below each break
MODE_START_AND_END, BEGIN_WITHOUT_END = "2", "0"  # as QGIS numbers them


def geopackage(
    outlines: NDArray[Any],
    totals: tuple[pl.DataFrame, Columns],
    counts: tuple[pl.DataFrame, Columns],
    clock: WeekClock,
    title: str,
) -> bytes:
    """The content of the file.

    outlines: of the cells, in degrees. totals: a row per cell, in their order. counts: 168 rows per cell, in their
    order. Both with the descriptions of their columns.
    """
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.deserialize(_cells_layer(outlines, totals[0], f"{title}: visits per cell in the week"))
        connection.executescript(f"begin; {DESCRIPTIONS_AND_STYLES}")
        _describe(connection, "cells", totals[1])
        _add_hours(connection, clock)
        _add_density(connection, *counts, f"{title}: visits per cell and hour")
        # Every date in the file is that of the week: the same counts are the same bytes.
        changed = _utc(datetime.combine(clock.week, datetime.min.time(), UTC))
        connection.execute("update gpkg_contents set last_change = ?", (changed,))
        _add_style(connection, qgis_style("count", counts[0]["count"].to_numpy()), changed)
        connection.execute("commit")
        return _without_counters(connection.serialize())


def _without_counters(content: bytes) -> bytes:
    """The database with both counters of changes in its header at one: they depend on how often GDAL flushed it."""
    header = bytearray(content[:HEADER_SIZE])
    for counter in CHANGE_COUNTERS:
        header[counter : counter + 4] = (1).to_bytes(4)
    return bytes(header) + content[HEADER_SIZE:]


def _cells_layer(outlines: NDArray[Any], totals: pl.DataFrame, description: str) -> bytes:
    """A GeoPackage with the layer `cells` alone."""
    shapes = [shape if shape.geom_type == "MultiPolygon" else shapely.MultiPolygon([shape]) for shape in outlines]
    table = totals.with_columns(geom=pl.Series(shapely.to_wkb(shapes).tolist(), dtype=pl.Binary))
    content = io.BytesIO()
    pyogrio.write_arrow(
        table.to_arrow(),
        content,
        layer="cells",
        driver="GPKG",
        geometry_name="geom",
        geometry_type="MultiPolygon",
        crs=DEGREES,
        dataset_options={"VERSION": "1.3"},  # which programs of 2022 read without a warning
        layer_options={"GEOMETRY_NAME": "geom", "SPATIAL_INDEX": "NO", "DESCRIPTION": description},
    )
    return content.getvalue()


def _add_hours(connection: sqlite3.Connection, clock: WeekClock) -> None:
    """When each hour starts and ends; one that happens twice lasts for two."""
    starts = [hour_start(clock, hour) for hour in range(HOURS + 1)]
    rows = []
    for hour, start in enumerate(starts[:HOURS]):
        if start is not None:
            end = next((later for later in starts[hour + 1 :] if later), start + timedelta(hours=1))
            rows.append((hour + 1, hour, _utc(start), _utc(end)))
    _add_table(connection, "hours", [("hour", "INTEGER"), (START, "DATETIME"), (END, "DATETIME")], rows)


def _add_density(connection: sqlite3.Connection, counts: pl.DataFrame, columns: Columns, description: str) -> None:
    """The numbers as a table, and the layer as a view of it; QGIS and GDAL take `OGC_FID` for its key."""
    numbers = [column for column in columns if column.name not in OF_THE_HOUR]
    rows = np.arange(len(counts))
    keys = (rows + 1, rows // HOURS + 1, rows % HOURS)
    values = [*(key.tolist() for key in keys), *(counts[column.name].to_list() for column in numbers)]
    typed = [("cell", "INTEGER"), ("hour", "INTEGER"), *((column.name, TYPES[column.kind]) for column in numbers)]
    _add_table(connection, "counts", typed, zip(*values, strict=True))
    chosen = ", ".join(f"counts.{quoted(column.name)}" for column in numbers)
    connection.execute(
        "create view density as select counts.fid as OGC_FID, cells.geom as geom, "  # noqa: S608  # names of ours
        "cells.cell_id, cells.week, hours.hour,"
        f" hours.{START}, hours.{END}, {chosen}"
        " from counts join cells on cells.fid = counts.cell join hours on hours.hour = counts.hour"
    )
    contents, geometry = DENSITY_LAYER.strip().removesuffix(";").split(";")
    connection.execute(contents, (description,))
    connection.execute(geometry)
    _describe(connection, "density", (*(column for column in columns if column.name != "timestamp"), *MOMENTS))


def _add_style(connection: sqlite3.Connection, qml: str, changed: str) -> None:
    connection.execute(
        "insert into layer_styles (f_table_catalog, f_table_schema, f_table_name, f_geometry_column, stylename, "
        "styleqml, stylesld, useasdefault, description, owner, ui, update_time) "
        "values ('', '', 'density', 'geom', 'visits', ?, '', 1, 'visits hour by hour', '', null, ?)",
        (qml, changed),
    )


def _add_table(
    connection: sqlite3.Connection, name: str, columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[Any]]
) -> None:
    """A table with a key of its own."""
    typed = ", ".join(f"{quoted(column)} {kind}" for column, kind in columns)
    connection.execute(f"create table {quoted(name)} (fid integer primary key not null, {typed})")
    values = ", ".join("?" * (len(columns) + 1))
    connection.executemany(f"insert into {quoted(name)} values ({values})", rows)  # noqa: S608  # quoted


def _describe(connection: sqlite3.Connection, layer: str, columns: Iterable[PublishedColumn]) -> None:
    """The meaning of columns, as the schema extension keeps it."""
    rows = [(layer, column.name, column.name, column.meaning) for column in columns]
    connection.executemany("insert into gpkg_data_columns values (?, ?, null, ?, ?, null, null)", rows)


def _utc(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


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
        described = {"lower": f"{lower:.0f}", "upper": f"{upper:.0f}", "symbol": str(number), "label": label}
        ET.SubElement(ranges, "range", described, render="true")
        symbol = ET.SubElement(symbols, "symbol", type="fill", name=str(number), alpha="0.8", clip_to_extent="1")
        layer = ET.SubElement(symbol, "layer", {"class": "SimpleFill", "enabled": "1", "locked": "0", "pass": "0"})
        options = ET.SubElement(layer, "Option", type="Map")
        for name, value in {"color": _rgba(number), "style": "solid", "outline_style": "no"}.items():
            ET.SubElement(options, "Option", name=name, type="QString", value=value)


def _rgba(number: int) -> str:
    colour = COLOURS[min(number, len(COLOURS) - 1)]
    return ",".join(str(int(colour[at : at + 2], 16)) for at in (1, 3, 5)) + ",255"
