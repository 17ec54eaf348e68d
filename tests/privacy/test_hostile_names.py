"""Names and identifiers that would end a SQL statement: they are data, and come out as they went in."""

import geopandas as gpd
import polars as pl
from runs import MONDAY, WEEK, materialise, only, verdicts

from density_assets.settings import load_settings
from resources.tables.stamps import stamp_values
from resources.tables.store import Store

HOSTILE = "x'\"); drop table cells; --"
COLUMN = 'x"; drop table y; --'
NEEDED = (
    *("cells", "antennas", "towers", "tower_cells", "overlaps", "cover_graph"),
    *("visits", "truncated_visits", "tower_series", "tower_totals", "visit_total", "iris_series", "cover_series"),
    *("noisy_totals", "clusters", "noisy_series", "smoothed_series", "density"),
    *("published_counts", "privacy_statement"),
)


def test_hostile_columns_cells_towers_and_users_are_only_names(town, tmp_path):
    cells = gpd.read_file(town.folder / "cells.geojson")
    cells["code"] = [f"{HOSTILE}{code}" for code in cells["code"]]
    cells.rename(columns={"code": COLUMN}).to_file(town.folder / "cells.geojson", driver="GeoJSON")
    towers = pl.read_csv(town.folder / "towers.csv").with_columns(name=HOSTILE + pl.col("name"))
    towers.rename({"name": COLUMN}).write_parquet(town.folder / "towers.parquet")
    (town.visits / "part-0.csv").unlink()
    people = {"user": [f"{HOSTILE}ann", "bob"], COLUMN: ["2007-09-10 08:00:00"] * 2, "mast": [f"{HOSTILE}A"] * 2}
    pl.DataFrame(people).write_parquet(town.visits / "part-0.parquet")
    text = town.settings.read_text().replace('"code"', f"'{COLUMN}'").replace('"name"', f"'{COLUMN}'")
    text = text.replace('/*.csv"', f"/*.parquet\"\nvisit_user = 'user'\nvisit_time = '{COLUMN}'\nvisit_tower = 'mast'")
    town.settings.write_text(text.replace("towers.csv", "towers.parquet"))
    result = materialise(town.settings, tmp_path / "home", asset_selection=only(*NEEDED))
    assert verdicts(result)["release_is_readable"].passed
    store = Store(tmp_path / "home", "town", stamp_values(load_settings(town.settings)))
    assert set(store.read_week("visits", MONDAY)["user_id"]) == {f"{HOSTILE}ann", "bob"}
    released = pl.read_csv(store.release / f"density_{WEEK}.csv")
    assert set(released["cell_id"]) == {f"{HOSTILE}{code}" for code in ("SW", "SE", "NW", "NE")}
