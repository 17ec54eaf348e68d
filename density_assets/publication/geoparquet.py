"""GeoParquet 1.1: what makes a Parquet file a map, for GeoPandas, QGIS, DuckDB and R sf."""

from typing import Any

import polars as pl
import shapely
from numpy.typing import NDArray

GEOMETRY = "geometry"


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
