"""Hexagons of H3: which are a city's, how they touch and what they are called."""

import sys

import geopandas as gpd
import h3
import numpy as np
import pytest
import shapely
from shapely import box
from town import make_town

from density_assets.errors import BadInput
from density_assets.geography.source import city_cells, city_towers
from density_assets.settings import load_settings

WEST, SOUTH, EAST, NORTH = 151.16, -33.92, 151.24, -33.86  # of Sydney: no square of Europe's grid is there


def hexagonal_town(folder, *points, boundary=None):
    """Antennas in degrees; without a boundary, the rectangle around them counts."""
    town = make_town(folder)
    rows = [f"{name},{x},{y}" for name, (x, y) in zip("ABCDE", points, strict=False)]
    (town.folder / "towers.csv").write_text("\n".join(["name,x,y", *rows]) + "\n")
    town.set('cells = "cells.geojson"\ncell_id = "code"', 'grid = "h3 8"')
    town.set("EPSG:2154", "EPSG:4326")
    if boundary is not None:
        boundary.to_file(town.folder / "city.gpkg")
        town.set('grid = "h3 8"', 'grid = "h3 8"\nboundary = "city.gpkg"')
    return load_settings(town.settings)


def test_hexagons_cover_the_boundary_without_gaps_or_overlaps(tmp_path):
    boundary = gpd.GeoSeries([box(WEST, SOUTH, EAST, NORTH)], crs="EPSG:4326")
    cells = city_cells(hexagonal_town(tmp_path, (151.2, -33.9), boundary=boundary))
    assert cells.crs == "EPSG:32756"
    (city,) = boundary.to_crs(cells.crs)
    assert city.difference(cells.city).area < 1e-3
    assert cells.areas.sum() == pytest.approx(cells.city.area, abs=1e-3)
    assert shapely.get_num_interior_rings(cells.city) == 0  # not a slit between neighbours
    assert (shapely.area(shapely.intersection(cells.polygons, city)) > 1).all()
    assert cells.ids.tolist() == sorted(set(cells.ids))
    around = gpd.GeoSeries(cells.polygons, crs=cells.crs).to_crs("EPSG:4326")
    assert [h3.latlng_to_cell(shape.centroid.y, shape.centroid.x, 8) for shape in around] == cells.ids.tolist()


def test_without_a_boundary_the_antennas_span_the_city(tmp_path):
    settings = hexagonal_town(tmp_path, (WEST, SOUTH), (EAST, NORTH), (EAST, SOUTH))
    cells = city_cells(settings)
    assert {h3.latlng_to_cell(NORTH, WEST, 8), h3.latlng_to_cell(SOUTH, WEST, 8)} <= set(cells.ids)
    towers = city_towers(settings, cells)
    assert (towers.ids.tolist(), towers.outside) == (["A", "B", "C"], 0)


def test_a_single_mast_and_a_city_on_both_sides_of_the_180th_meridian_have_hexagons(tmp_path):
    for name, points in (("one", [(179.9999, -16.5)]), ("both", [(179.99, -16.5), (-179.99, -16.5)])):
        (tmp_path / name).mkdir()
        settings = hexagonal_town(tmp_path / name, *points)
        if name == "one":
            assert h3.latlng_to_cell(-16.5, 179.9999, 8) in city_cells(settings).ids
        else:
            with pytest.raises(BadInput, match=r"between 1 and 20,000 cells of the grid"):
                city_cells(settings)


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ([(10, 45), (20, 50)], "between 1 and 20,000 cells of the grid"),
        ([(10, 89.9), (11, 89.9)], "must lie where a UTM zone is"),
    ],
)
def test_antennas_of_a_country_or_of_the_pole_are_no_city(tmp_path, points, said):
    with pytest.raises(BadInput, match=said):
        city_cells(hexagonal_town(tmp_path, *points))


def test_without_the_package_it_is_said_which_one_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h3", None)
    with pytest.raises(BadInput, match=r"pip install 'density-assets\[h3\]'"):
        city_cells(hexagonal_town(tmp_path, (151.2, -33.9)))


def test_neighbours_share_the_points_of_their_border(tmp_path):
    cells = city_cells(hexagonal_town(tmp_path, (WEST, SOUTH), (EAST, NORTH)))
    points = np.concatenate([shapely.get_coordinates(shape)[:-1] for shape in cells.polygons])
    centre = next(i for i, name in enumerate(cells.ids) if set(h3.grid_disk(name, 1)) <= set(cells.ids))
    shared = [
        int((points == corner).all(axis=1).sum()) for corner in shapely.get_coordinates(cells.polygons[centre])[:-1]
    ]
    assert shared == [3] * 6
