"""Areas that carry no coordinate system get the one that settings give; those that carry one keep it."""

import json

import geopandas as gpd
import numpy as np
import pyarrow.parquet as pq
import pytest
from shapely import box

from density_assets.errors import BadInput
from density_assets.geography.cells import read_cells

SQUARES = [box(650_000 + 1_000 * i, 6_860_000, 651_000 + 1_000 * i, 6_861_000) for i in range(2)]


def frame(crs=None):
    return gpd.GeoDataFrame({"id": ["a", "b"]}, geometry=SQUARES, crs=crs)


def silent_geoparquet(path):
    """GeoParquet whose metadata does not say a word of the system, as Spark writes it."""
    frame("EPSG:2154").to_parquet(path)
    table = pq.read_table(path)
    about = json.loads(table.schema.metadata[b"geo"])
    del about["columns"]["geometry"]["crs"]
    pq.write_table(table.replace_schema_metadata({b"geo": json.dumps(about).encode()}), path)


WRITERS = {
    "null.parquet": lambda path: frame().to_parquet(path),
    "silent.parquet": silent_geoparquet,
    "cells.gpkg": lambda path: frame().to_file(path),
    "cells.shp": lambda path: frame().to_file(path),
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.filterwarnings("ignore:'crs' was not provided")
def test_a_file_that_carries_none_gets_that_of_the_settings(tmp_path, name):
    WRITERS[name](tmp_path / name)
    cells = read_cells(tmp_path / name, "id", "EPSG:2154")
    assert cells.crs == "EPSG:2154"
    np.testing.assert_allclose(cells.areas, [1e6, 1e6])
    with pytest.raises(BadInput):
        read_cells(tmp_path / name, "id")


@pytest.mark.parametrize("name", ["cells.parquet", "cells.gpkg"])
def test_a_file_that_carries_another_is_refused_and_the_same_is_not(tmp_path, name):
    own = frame("EPSG:2154")
    own.to_parquet(tmp_path / name) if name.endswith("parquet") else own.to_file(tmp_path / name)
    assert read_cells(tmp_path / name, "id", "EPSG:2154").crs == "EPSG:2154"
    with pytest.raises(BadInput, match=r"carry no coordinate system, got EPSG:3035, but this one carries 'EPSG:2154'"):
        read_cells(tmp_path / name, "id", "EPSG:3035")


def test_a_system_that_nobody_knows_is_refused(tmp_path):
    frame().to_parquet(tmp_path / "cells.parquet")
    with pytest.raises(BadInput, match=r"city\.cells_crs must be one pyproj knows, such as EPSG:4326, got 'EPSG:none'"):
        read_cells(tmp_path / "cells.parquet", "id", "EPSG:none")


def test_a_folder_of_geoparquet_is_one_city(tmp_path):
    for number in range(2):
        folder = tmp_path / "zones" / f"part={number}"
        folder.mkdir(parents=True)
        frame("EPSG:2154").iloc[[number]].to_parquet(folder / "part-0.parquet")
    (tmp_path / "zones/_SUCCESS").touch()
    assert read_cells(tmp_path / "zones", "id").ids.tolist() == ["a", "b"]
