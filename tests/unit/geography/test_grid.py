"""Squares of the European grid: names, and which are a city's. 10° east, 52° north is E 4321000, N 3210000."""

import geopandas as gpd
import numpy as np
import pyproj
import pytest
from shapely import box
from town import make_town

from density_assets.errors import BadInput
from density_assets.geography.source import city_cells, city_towers
from density_assets.settings import load_settings

E, N = 4_321_000, 3_210_000


def grid_town(folder, points=((500, 500), (1_500, 500)), boundary=None, crs="EPSG:3035"):
    """Antennas and a boundary in metres from the middle of Europe; without a boundary, the antennas' extent counts."""
    town = make_town(folder)
    rows = [f"{name},{E + x},{N + y}" for name, (x, y) in zip("ABCDE", points, strict=False)]
    (town.folder / "towers.csv").write_text("\n".join(["name,x,y", *rows]) + "\n")
    town.set('cells = "cells.geojson"\ncell_id = "code"', 'grid = "inspire 1km"')
    town.set("EPSG:2154", "EPSG:3035")
    if boundary:
        west, south, east, north = boundary
        shape = gpd.GeoSeries([box(E + west, N + south, E + east, N + north)], crs="EPSG:3035").to_crs(crs)
        shape.to_file(town.folder / "city.gpkg")
        town.set('grid = "inspire 1km"', 'grid = "inspire 1km"\nboundary = "city.gpkg"')
    return town


def cells_of(town):
    return city_cells(load_settings(town.settings))


@pytest.mark.parametrize("crs", ["EPSG:3035", "EPSG:4326", "EPSG:25832"])
def test_squares_are_those_that_the_boundary_covers_and_are_named_by_their_lower_left_corner(tmp_path, crs):
    cells = cells_of(grid_town(tmp_path, boundary=(100, 100, 1_900, 900), crs=crs))
    assert cells.ids.tolist() == ["CRS3035RES1000mN3210000E4321000", "CRS3035RES1000mN3210000E4322000"]
    assert cells.crs == "EPSG:3035"
    assert [shape.bounds for shape in cells.polygons] == [(E, N, E + 1000, N + 1000), (E + 1000, N, E + 2000, N + 1000)]
    middle = pyproj.Transformer.from_crs("EPSG:4326", cells.crs, always_xy=True).transform(10, 52)
    assert np.allclose(middle, (E, N))


def test_without_a_boundary_the_antennas_span_the_city(tmp_path):
    town = grid_town(tmp_path, points=((500, 500), (1_500, -500)))
    cells = cells_of(town)
    assert [(int(x - E) // 1000, int(y - N) // 1000) for x, y in cells.centroids] == [(0, -1), (1, -1), (0, 0), (1, 0)]
    assert city_towers(load_settings(town.settings), cells).ids.tolist() == ["A", "B"]


def test_antennas_of_a_country_are_no_city(tmp_path):
    with pytest.raises(BadInput, match=r"between 1 and 20,000 cells .* give city\.boundary"):
        cells_of(grid_town(tmp_path, points=((0, 0), (500_000, 500_000))))


SITE = 'ENGCRS["site",EDATUM["s"],CS[Cartesian,2],AXIS["x",east],AXIS["y",north],LENGTHUNIT["metre",1]]'


def test_antennas_of_a_plan_that_is_nowhere_on_earth_are_refused(tmp_path):
    """There is such a system, and no way from it to anywhere."""
    town = grid_town(tmp_path)
    town.set('"EPSG:3035"', f"'{SITE}'")
    with pytest.raises(BadInput, match=r"city\.tower_crs must be one pyproj knows"):
        cells_of(town)


def test_a_boundary_of_a_plan_that_is_nowhere_on_earth_is_refused(tmp_path):
    town = grid_town(tmp_path, boundary=(100, 100, 1_900, 900))
    (town.folder / "city.gpkg").unlink()
    gpd.GeoSeries([box(0, 0, 1_000, 1_000)], crs=SITE).to_file(town.folder / "city.gpkg")
    with pytest.raises(BadInput, match="the boundary must have a coordinate system, found 'site', which says nothing"):
        cells_of(town)


def test_a_city_outside_europe_is_refused(tmp_path):
    town = grid_town(tmp_path)
    (town.folder / "towers.csv").write_text("name,x,y\nA,151.2,-33.9\n")
    town.set("EPSG:3035", "EPSG:4326")
    with pytest.raises(BadInput, match="the INSPIRE grid covers Europe, found a city outside"):
        cells_of(town)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("inspire 1km", "inspire 2km", "city.grid"),
        ('grid = "inspire 1km"', 'grid = "inspire 1km"\ncells = "cells.geojson"', "give either cells and cell_id"),
        ('grid = "inspire 1km"', 'cells = "c"\ncell_id = "i"\nboundary = "b"', "give grid as well"),
    ],
)
def test_settings_that_cannot_be_meant(tmp_path, old, new, message):
    town = grid_town(tmp_path)
    town.set(old, new)
    with pytest.raises(BadInput, match=message):
        load_settings(town.settings)
