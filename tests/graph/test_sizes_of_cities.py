"""Cities of three cells and of five thousand: checked, then made by the assets, from small invented files."""

import geopandas as gpd
import numpy as np
import polars as pl
from runs import MONDAY, WEEK, materialise, only
from shapely import box
from town import Town

from density_assets.city import City
from density_assets.cli.inspection import inspect
from density_assets.geography.tables import overlaps_from
from density_assets.records.verdict import Verdict
from density_assets.settings import load_settings

E, N = 4_321_000, 3_210_000  # 10° east, 52° north in EPSG:3035
SETTINGS = """
[city]
name = "{name}"
grid = "inspire 1km"
boundary = "city.geojson"
cells_crs = "EPSG:4326"
towers = "towers.csv"
tower_id = "name"
tower_x = "x"
tower_y = "y"
tower_crs = "EPSG:3035"
{people}
first_week = 2007-09-10

[privacy]
epsilon = 5.0
budget_epsilon = 100.0
"""


def city_of(folder, name, squares, towers, people) -> Town:
    """A rectangle of squares of the European grid, a hundred metres smaller on each side, with masts inside."""
    columns, rows = squares
    shape = box(E + 100, N + 100, E + 1_000 * columns - 100, N + 1_000 * rows - 100)
    gpd.GeoSeries([shape], crs="EPSG:3035").to_crs("EPSG:4326").to_file(folder / "city.geojson")
    lines = [f"T{number},{E + x:.0f},{N + y:.0f}" for number, (x, y) in enumerate(towers)]
    (folder / "towers.csv").write_text("\n".join(["name,x,y", *lines]) + "\n")
    (folder / "city.toml").write_text(SETTINGS.format(name=name, people=people))
    return Town(folder, folder / "city.toml")


def test_a_town_of_three_cells_and_two_masts_is_released(tmp_path):
    town = city_of(tmp_path, "hamlet", (3, 1), [(500, 500), (2_500, 500)], "users = 2000")
    found = inspect(load_settings(town.settings), MONDAY, tmp_path / "home")
    assert "3 valid and disjoint, 3.00 km²" in str(found)
    assert "2 sites" in str(found)
    assert found.verdict is not Verdict.NOT_READY
    assert materialise(town.settings, tmp_path / "home").success
    density = pl.read_parquet(tmp_path / f"home/hamlet/release/density_{WEEK}.parquet")
    assert density.group_by("cell_id").len()["len"].to_list() == [168] * 3
    assert set(density["cell_id"]) == {f"CRS3035RES1000mN{N}E{E + 1_000 * east}" for east in range(3)}


def test_five_thousand_cells_are_checked_and_mapped(tmp_path):
    random = np.random.default_rng(1)
    places = random.uniform((300, 300), (99_700, 49_700), (400, 2))
    town = city_of(tmp_path, "wide", (100, 50), places.tolist(), "users = 500")
    found = inspect(load_settings(town.settings), MONDAY, tmp_path / "home")
    assert "5,000 valid and disjoint" in str(found)
    made = only("cells", "antennas", "towers", "tower_cells", "overlaps", "cover_graph", "visits", "truncated_visits")
    made += only("tower_series", "iris_series")
    assert materialise(town.settings, tmp_path / "home", asset_selection=made).success
    city = City(load_settings(town.settings), tmp_path / "home")
    tables = [city.store.read_public(name) for name in ("overlaps", "towers", "cells")]
    assert np.allclose(np.bincount(overlaps_from(*tables).tower, overlaps_from(*tables).share), 1)
    series, sites = (city.store.read_week(name, MONDAY) for name in ("iris_series", "tower_series"))
    assert len(series) == 5_000 * 168
    assert np.isclose(series["original"].sum(), sites["original"].sum())
