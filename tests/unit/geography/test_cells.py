"""Reading cells: every format, the metric coordinate system, and one test for each bad input."""

import json
import sqlite3

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from shapely import Point, Polygon

from density_assets.errors import BadInput
from density_assets.geography.cells import read_cells

# Two squares of 100 m side by side, near Paris.
WEST = shapely.box(650_000, 6_860_000, 650_100, 6_860_100)
EAST = shapely.box(650_100, 6_860_000, 650_200, 6_860_100)
BOWTIE = Polygon([(0, 0), (10, 10), (10, 0), (0, 10)])


def frame(polygons=(WEST, EAST), ids=("a", "b"), crs="EPSG:2154"):
    return gpd.GeoDataFrame({"code": list(ids)}, geometry=list(polygons), crs=crs)


def written(tmp_path, cells, name="cells.gpkg"):
    path = tmp_path / name
    if path.suffix in {".parquet", ".geoparquet"}:
        cells.to_parquet(path)
    else:
        cells.to_file(path)
    return path


def complaint(path, cell_id="code"):
    with pytest.raises(BadInput) as caught:
        read_cells(path, cell_id)
    return str(caught.value)


@pytest.mark.parametrize("name", ["c.gpkg", "c.shp", "c.parquet", "c.geoparquet"])
def test_formats_that_carry_a_projected_system_keep_it(tmp_path, name):
    cells = read_cells(written(tmp_path, frame(), name), "code")
    assert cells.ids.tolist() == ["a", "b"]
    assert cells.crs == "EPSG:2154"
    assert cells.areas.tolist() == [10_000, 10_000]
    assert cells.polygons[0].equals(WEST)


def test_geojson_in_degrees_moves_to_its_utm_zone(tmp_path):
    path = written(tmp_path, frame().to_crs("EPSG:4326"), "cells.geojson")
    cells = read_cells(path, "code")
    assert cells.crs == "EPSG:32631"
    assert cells.areas == pytest.approx([10_000, 10_000], rel=2e-3)
    assert cells.city.geom_type == "Polygon"


def test_a_projected_system_in_feet_moves_to_its_utm_zone(tmp_path):
    square = shapely.box(1_000_000, 200_000, 1_000_100, 200_100)  # New York, US survey feet
    cells = read_cells(written(tmp_path, frame([square], ["a"], "EPSG:2263")), "code")
    assert cells.crs == "EPSG:32618"
    assert cells.areas == pytest.approx([100 * 100 * 0.3048**2], rel=2e-3)


@pytest.mark.parametrize("long_one", ["north", "south"])
def test_neighbours_in_degrees_with_different_vertices_neither_overlap_nor_part(tmp_path, long_one):
    # One long cell beside ten short ones: straight in degrees, their common border is a curve in metres.
    long_at, short_at = (48.1, 48.0) if long_one == "north" else (48.0, 48.1)
    short = [shapely.box(2 + i / 50, short_at, 2 + (i + 1) / 50, short_at + 0.1) for i in range(10)]
    polygons = [shapely.box(2, long_at, 2.2, long_at + 0.1), *short]
    cells = read_cells(written(tmp_path, frame(polygons, range(11), "EPSG:4326")), "code")
    outline = Polygon(cells.city.exterior)
    assert cells.areas.sum() == pytest.approx(outline.area, abs=1)


def test_heights_are_forgotten(tmp_path):
    cells = read_cells(written(tmp_path, frame([shapely.force_3d(WEST, 35.0)], ["a"])), "code")
    assert not cells.polygons[0].has_z


@pytest.mark.parametrize("name", ["c.gpkg", "c.shp", "c.parquet"])
def test_whole_numbers_become_text_without_a_decimal_point(tmp_path, name):
    assert read_cells(written(tmp_path, frame(ids=[75101, 75102]), name), "code").ids.tolist() == [
        "75101",
        "75102",
    ]
    assert read_cells(written(tmp_path, frame(ids=[1.0, 2.0]), name), "code").ids.tolist() == ["1", "2"]


def test_text_keeps_its_leading_zeros(tmp_path):
    assert read_cells(written(tmp_path, frame(ids=["01", "1"])), "code").ids.tolist() == ["01", "1"]


def test_a_missing_file(tmp_path):
    message = complaint(tmp_path / "nowhere.gpkg")
    assert "must exist" in message
    assert "nowhere.gpkg" in message


@pytest.mark.parametrize("name", ["bad.gpkg", "bad.geojson", "bad.shp", "bad.parquet"])
def test_an_unreadable_file(tmp_path, name):
    (tmp_path / name).write_text("this is not a map")
    message = complaint(tmp_path / name)
    assert message.startswith(f"{name}: the cells must be a file GeoPandas reads")


def test_a_file_without_geometry(tmp_path):
    (tmp_path / "cells.csv").write_text("code,name\na,north\n")
    assert "must have a geometry, found only the columns code, name" in complaint(tmp_path / "cells.csv")


def test_a_missing_column_lists_the_columns_and_names_the_nearest(tmp_path):
    cells = frame().assign(name="x").rename(columns={"code": "DCOMIRIS"})
    message = complaint(written(tmp_path, cells), "dcom_iris")
    assert "cell_id must name a column of the file, got 'dcom_iris'" in message
    assert "did you mean 'DCOMIRIS'? (the columns are DCOMIRIS, name)" in message


def test_no_cells_at_all(tmp_path):
    assert "at least one cell, found none" in complaint(written(tmp_path, frame([], []), "c.parquet"))


@pytest.mark.parametrize("ids", [["a", None], [7.0, np.nan], pd.array([7, None], dtype="Int64"), ["a", " "]], ids=repr)
def test_null_ids(tmp_path, ids):
    message = complaint(written(tmp_path, frame(ids=ids), "c.parquet"))
    assert "every cell must have an id in 'code', found 1 without (rows 2)" in message


@pytest.mark.parametrize("ids", [[1.5, 2.0], [True, False]], ids=repr)
def test_ids_that_are_neither_text_nor_whole_numbers(tmp_path, ids):
    message = complaint(written(tmp_path, frame(ids=ids), "c.parquet"))
    assert "must be text or whole numbers" in message
    assert str(ids[0]) in message


def test_duplicate_ids_name_at_most_five(tmp_path):
    polygons = [shapely.box(10 * i, 0, 10 * i + 10, 10) for i in range(14)]
    message = complaint(written(tmp_path, frame(polygons, list("abcdefg") * 2)))
    assert "must be unique, found 7 used more than once: a, b, c, d, e and 2 more" in message


def test_a_missing_coordinate_system(tmp_path):
    assert "must have a coordinate system, found none" in complaint(written(tmp_path, frame(crs=None), "c.parquet"))


def test_a_coordinate_system_of_no_place_on_earth(tmp_path):
    local = 'LOCAL_CS["drawing board",UNIT["metre",1]]'
    assert "'drawing board', which says nothing of where" in complaint(written(tmp_path, frame(crs=local), "c.parquet"))


def test_metres_in_a_file_that_says_degrees(tmp_path):
    message = complaint(written(tmp_path, frame(crs="EPSG:4326"), "cells.geojson"))
    assert "coordinates in EPSG:4326 must be degrees, found x 650,000.0 to 650,200.0" in message


@pytest.mark.parametrize("nothing", [None, Polygon()], ids=["null", "empty"])
def test_null_and_empty_geometry(tmp_path, nothing):
    message = complaint(written(tmp_path, frame([WEST, nothing]), "c.parquet"))
    assert "every cell must have a polygon, found 1 without: b" in message


def test_geometry_that_is_no_polygon(tmp_path):
    message = complaint(written(tmp_path, frame([WEST, Point(650_000, 6_860_000)]), "c.parquet"))
    assert "must be a polygon or multipolygon, found 1 others: b (Point)" in message


def test_invalid_polygons(tmp_path):
    message = complaint(written(tmp_path, frame([BOWTIE, EAST])))
    assert "every polygon must be valid, found 1 invalid: a (Self-intersection" in message


def test_overlapping_cells_name_the_pairs(tmp_path):
    third = shapely.box(650_090, 6_860_000, 650_110, 6_860_100)
    message = complaint(written(tmp_path, frame([WEST, EAST, third], ["a", "b", "c"])))
    assert "must not overlap by more than 1 m², found 2 pairs that do" in message
    assert "a and c (1,000 m²), b and c (1,000 m²)" in message


def test_many_overlaps_of_less_than_a_square_metre_are_rounding(tmp_path):
    # Ten neighbours, each 5 mm over the next: 0.5 m² per pair, 4.5 m² in all.
    strips = [shapely.box(650_000 + 10 * i, 0, 650_010.005 + 10 * i, 100) for i in range(10)]
    assert len(read_cells(written(tmp_path, frame(strips, range(10))), "code")) == 10


def ring(tmp_path, coordinates, code="a"):
    """A GeoJSON file with one cell, in degrees."""
    geometry = {"type": "Polygon", "coordinates": [coordinates]}
    features = [{"type": "Feature", "properties": {"code": code}, "geometry": geometry}]
    (tmp_path / "cells.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return tmp_path / "cells.geojson"


SQUARE = [[2, 48], [2.1, 48], [2.1, 48.1], [2, 48.1], [2, 48]]


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::pytest.PytestUnraisableExceptionWarning")  # of GDAL
@pytest.mark.parametrize("points", [1, 2, 3, 4])
def test_rings_that_do_not_close(tmp_path, points):
    assert "cells.geojson: " in complaint(ring(tmp_path, SQUARE[:points]))


@pytest.mark.parametrize("far", [1e9, 1e150, 1e300])
def test_coordinates_beyond_the_earth(tmp_path, far):
    square = shapely.box(650_000, 6_860_000, far, 6_860_100)
    assert "must be metres on Earth, found x" in complaint(written(tmp_path, frame([square], ["a"]), "c.parquet"))


def test_cells_no_utm_zone_is_for(tmp_path):
    """The pole and all around it."""
    cap = [[lon, 89] for lon in (-180, -90, 0, 90, 180)] + [[180, 90], [-180, 90], [-180, 89]]
    assert "cells.geojson: " in complaint(ring(tmp_path, cap))


@pytest.mark.parametrize("code", ["a\0b", "\0", "a\0"])
def test_an_id_that_would_be_cut_at_a_nul(tmp_path, code):
    assert "ids in 'code' must not hold a NUL" in complaint(ring(tmp_path, SQUARE, code))
    package = written(tmp_path, frame())
    with sqlite3.connect(package) as file:
        triggers = [name for (name,) in file.execute("select name from sqlite_master where type = 'trigger'")]
        for name in triggers:
            file.execute(f'drop trigger "{name}"')  # they need functions that only GDAL has
        file.execute("update cells set code = ? where code = 'a'", [code])
    assert "ids in 'code' must not hold a NUL" in complaint(package)
    parquet = written(tmp_path, frame(ids=["x", code]), "c.parquet")
    assert "must be neither blank nor hold control characters, found 1 that do" in complaint(parquet)
