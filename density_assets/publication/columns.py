"""The columns of every published table, described once: what they mean, in which unit, what offices call them.

The data dictionary, the metadata of Parquet files, the schemas of the data package and the columns of SDMX all follow
from here. A column that a release does not have is left out: `described` goes by the columns of the table itself, and
refuses one that is not described. Whoever adds a column to a file adds a line here, and nothing else.

`described_parquet` writes them: whatever reads Parquet gets dates as dates and moments as moments; what reads metadata
too (pyarrow, R arrow, DuckDB's `parquet_kv_metadata`) gets the words of the data dictionary. With `geo_metadata` a file
with outlines is GeoParquet 1.1, a map for GeoPandas, QGIS, DuckDB and R sf.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import shapely
from numpy.typing import NDArray

from density_assets.publication.sum_errors import MEANING

Kind = Literal["string", "integer", "number", "boolean", "date", "datetime", "geometry"]
OF_PEOPLE = "people"
VISITS = "visits"  # a device seen in a cell in an hour; not people
WIDTH = "95 % interval"
GEOMETRY = "geometry"
ARROW_TYPES: dict[Kind, pa.DataType] = {
    "string": pa.string(),
    "integer": pa.int64(),
    "number": pa.float64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "geometry": pa.binary(),
}


@dataclass(frozen=True)
class PublishedColumn:
    """A column of a published table.

    kind: as the data package calls types; a geometry is well-known binary in degrees.
    meaning: `{timezone}` stands for that of the city.
    unit: what its numbers count; nothing for what is not a quantity.
    concept: its name in SDMX, where it is part of what offices load.
    required: whether it is never empty.
    """

    name: str
    kind: Kind
    meaning: str
    unit: str = ""
    concept: str = ""
    required: bool = True


Columns = tuple[PublishedColumn, ...]

CELL_ID = PublishedColumn("cell_id", "string", "identifier of the cell", concept="REF_AREA")
WEEK = PublishedColumn("week", "date", "Monday that the week is named after")

PEOPLE: Columns = (  # beside counts, where a city states factors
    PublishedColumn(
        "people", "integer", "people: visits divided by public factors, which are assumptions", unit=OF_PEOPLE
    ),
    PublishedColumn(
        "people_low",
        "integer",
        "lower end of their interval: 95 % of the noise, and factors anywhere between their bounds; never below zero",
        unit=OF_PEOPLE,
        required=False,
    ),
    PublishedColumn("people_high", "integer", "upper end of that interval", unit=OF_PEOPLE, required=False),
)

DENSITY: Columns = (  # density_<week>: a row per cell and hour; CSV and Parquet in this order
    CELL_ID,
    PublishedColumn(
        "hour", "integer", "hour of the week on the city's clocks ({timezone}); 0 is Monday 00:00, 167 is Sunday 23:00"
    ),
    PublishedColumn(
        "timestamp",
        "datetime",
        "start of the hour with its offset from UTC; empty for an hour that does not happen",
        concept="TIME_PERIOD",
        required=False,
    ),
    PublishedColumn(
        "count",
        "integer",
        "visits: devices seen in the cell in that hour; one seen in two cells counts in both. Not people",
        unit=VISITS,
        concept="OBS_VALUE",
    ),
    PublishedColumn(
        "standard_error",
        "number",
        "how far noise may have moved the count, to first order; known from settings and noisy values",
        unit=VISITS,
        concept="STD_ERR",
    ),
    WEEK,
    PublishedColumn("count_low", "integer", f"lower end of the {WIDTH} of the count; never below zero", unit=VISITS),
    PublishedColumn("count_high", "integer", f"upper end of the {WIDTH} of the count", unit=VISITS),
    *PEOPLE,
)

REGIONS: Columns = (  # regions_<week>: a row per region and period, those of the whole city first
    PublishedColumn("region_id", "string", "identifier of the region; empty for the whole city", required=False),
    PublishedColumn("region_name", "string", "its name"),
    WEEK,
    PublishedColumn("period", "string", "`hour`, `day` or `week`: what the count is the sum of"),
    PublishedColumn(
        "hour", "integer", "hour of the week with which the period begins, on the city's clocks ({timezone})"
    ),
    PublishedColumn(
        "timestamp",
        "datetime",
        "start of the period with its offset from UTC; empty for an hour that does not happen",
        concept="TIME_PERIOD",
        required=False,
    ),
    PublishedColumn(
        "count",
        "integer",
        "visits: the sum of the counts of the region's cells; in days and the week of hours that happen. Not people",
        unit=VISITS,
        concept="OBS_VALUE",
    ),
    PublishedColumn(
        "standard_error",
        "number",
        "how far noise may have moved the sum, to first order; empty where nothing tells how errors go together",
        unit=VISITS,
        concept="STD_ERR",
        required=False,
    ),
    PublishedColumn(
        "count_low", "integer", f"lower end of the {WIDTH} of the sum; never below zero", VISITS, required=False
    ),
    PublishedColumn("count_high", "integer", f"upper end of the {WIDTH} of the sum", VISITS, required=False),
    *PEOPLE,
)

CELLS: Columns = (  # cells_<week>: a row per cell
    CELL_ID,
    WEEK,
    PublishedColumn("area_km2", "number", "area of the cell", unit="km²"),
    PublishedColumn("count", "integer", "visits of the week: the sum of the cell's counts. Not people", unit=VISITS),
    PublishedColumn("standard_error", "number", "how far noise may have moved that sum, to first order", unit=VISITS),
    PublishedColumn("count_low", "integer", f"lower end of the {WIDTH} of the sum; never below zero", unit=VISITS),
    PublishedColumn("count_high", "integer", f"upper end of the {WIDTH} of the sum", unit=VISITS),
    *PEOPLE,
    PublishedColumn("geometry", "geometry", "outline of the cell, in degrees of longitude and latitude (OGC:CRS84)"),
)

MEASUREMENTS: Columns = (  # measurements_<week>: a row per noisy number, as it was drawn
    PublishedColumn("door", "string", "which mechanism drew it; the privacy statement gives noise and scale of each"),
    PublishedColumn("query", "string", "what was measured"),
    PublishedColumn(
        "series", "integer", "number of the place, or of places measured together; 0 for a number of the whole"
    ),
    PublishedColumn("position", "integer", "place of the number within its series: the hour of the week, or its rank"),
    PublishedColumn("value", "number", "the noisy number, before any estimate; may be negative"),
    PublishedColumn(
        "standard_error",
        "number",
        "standard deviation of its noise; of series the statement gives the scale",
        required=False,
    ),
    PublishedColumn(
        "kept",
        "integer",
        "of a series: how many of its coefficients were drawn, 168 where all hours were; the others are zero",
        required=False,
    ),
)

KINDS_OF_SUMS: dict[str, Kind] = {"kind": "string", "cell_id": "string", "value": "number"}
SUMS: Columns = tuple(  # errors_of_sums_<week>: a row per number of a pattern
    PublishedColumn(name, KINDS_OF_SUMS.get(name, "integer"), meaning, required=name not in ("cell_id", "hour"))
    for name, meaning in MEANING.items()
)


def described(columns: Columns, names: Sequence[str], timezone: str) -> Columns:
    """What describes the columns of a table, in its order.

    columns: those that such tables may have. names: those that this one has.
    """
    by_name = {column.name: column for column in columns}
    if unknown := [name for name in names if name not in by_name]:
        raise ValueError(f"every published column must be described in publication/columns.py, got {unknown}")
    return tuple(
        replace(by_name[name], meaning=by_name[name].meaning.replace("{timezone}", timezone)) for name in names
    )


def as_markdown(columns: Columns) -> str:
    """Return a table of what columns mean, with types and units."""
    rows = [f"| `{column.name}` | {column.kind} | {column.unit} | {column.meaning} |" for column in columns]
    return "\n".join(["| column | type | unit | meaning |", "|---|---|---|---|", *rows])


def described_parquet(table: pl.DataFrame, columns: Columns, about: Mapping[str, Any]) -> bytes:
    """The content of a Parquet file: the same bytes for the same table.

    columns: what describes those of the table, in its order. about: what is said of the whole, as text or JSON.
    """
    arrow = table.to_arrow()
    fields = [_arrow_field(column, arrow.schema.field(column.name)) for column in columns]
    metadata = {name: value if isinstance(value, str) else json.dumps(value) for name, value in about.items()}
    sink = pa.BufferOutputStream()
    pq.write_table(arrow.cast(pa.schema(fields, metadata=metadata)), sink, compression="zstd")
    return bytes(sink.getvalue())


def _arrow_field(column: PublishedColumn, field: pa.Field) -> pa.Field:
    """The type and words of a column: a moment keeps its zone, a short number its width."""
    as_it_is = pa.types.is_timestamp(field.type) or pa.types.is_floating(field.type) or pa.types.is_integer(field.type)
    words = {"kind": column.kind, "meaning": column.meaning, "unit": column.unit, "concept": column.concept}
    return pa.field(
        column.name,
        field.type if as_it_is else ARROW_TYPES[column.kind],
        nullable=not column.required,
        metadata={name: text for name, text in words.items() if text},
    )


def with_geometry(table: pl.DataFrame, outlines: NDArray[Any]) -> pl.DataFrame:
    """The table with outlines as well-known binary, in its order."""
    return table.with_columns(pl.Series(GEOMETRY, shapely.to_wkb(outlines).tolist(), dtype=pl.Binary))


def geo_metadata(outlines: NDArray[Any]) -> dict[str, Any]:
    """What the key `geo` of the file says; without a reference system, degrees of OGC:CRS84 are meant."""
    about = {
        "encoding": "WKB",
        "geometry_types": sorted({outline.geom_type for outline in outlines}),
        "bbox": shapely.total_bounds(outlines).tolist(),
    }
    return {"version": "1.1.0", "primary_column": GEOMETRY, "columns": {GEOMETRY: about}}
