"""A small synthetic city through the real graph, for studies to work on."""

import geopandas as gpd
import polars as pl
import pytest
from runs import MONDAY, materialise, only

from density_assets.geography.source import embedded_city
from density_assets.research.density.week import TABLES
from density_assets.research.study import Source
from density_assets.settings import load_settings
from resources.tables.stamps import stamp_values
from resources.tables.store import Store

SETTINGS = """
[city]
name = "small"
cells = "cells.geojson"
cell_id = "code"
towers = "towers.csv"
tower_id = "name"
tower_x = "x"
tower_y = "y"
tower_crs = "EPSG:32631"
users = 60000
"""


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """60,000 people in a city of 60 cells and 80 towers."""
    folder = tmp_path_factory.mktemp("small")
    cells, towers = embedded_city(cells=60, towers=80, seed=4)
    frame = gpd.GeoDataFrame({"code": cells.ids}, geometry=list(cells.polygons), crs=cells.crs)
    frame.to_file(folder / "cells.geojson", driver="GeoJSON")
    columns = {"name": towers.ids, "x": towers.xy[:, 0], "y": towers.xy[:, 1]}
    pl.DataFrame(columns).write_csv(folder / "towers.csv")
    file = folder / "small.toml"
    file.write_text(SETTINGS)
    needed = ("antennas", "visits", "truncated_visits", *TABLES)
    assert materialise(file, folder / "home", asset_selection=only(*needed)).success
    settings = load_settings(file)
    return Source(settings, Store(folder / "home", "small", stamp_values(settings)), MONDAY)
