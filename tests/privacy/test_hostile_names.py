"""Names that would end a SQL statement, a script or a field: they are data, and come out as they went in."""

import json
import sqlite3
from contextlib import closing
from html.parser import HTMLParser

import geopandas as gpd
import polars as pl
import pytest
import yaml
from runs import MONDAY, WEEK, materialise, only, verdicts

from density_assets.cli.inspection import inspect
from density_assets.errors import BadInput
from density_assets.settings import load_settings
from resources.tables.stamps import stamp_values
from resources.tables.store import Store

HOSTILE = "x'\"); drop table cells; --"
COLUMN = 'x"; drop table y; --'
NEEDED = (
    *("cells", "antennas", "towers", "tower_cells", "overlaps", "cover_graph"),
    *("visits", "truncated_visits", "tower_series", "tower_totals", "visit_total", "iris_series", "cover_series"),
    *("noisy_totals", "clusters", "noisy_series", "smoothed_series", "density"),
    *("regions", "usual_week", "errors_of_sums", "published_counts", "privacy_statement", "density_report"),
    "signed_release",
)
SCRIPT = "</script><script>alert(1)</script><!-- \"',; ${1} {{2}} &amp;"
PUBLISHER = f"{SCRIPT}: !!python/object:os.system [x] # *a"


class Scripts(HTMLParser):
    """What a browser would run, and data that it would not."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[dict[str, str | None], str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not [name for name, _ in attrs if name.startswith("on")]
        if tag == "script":
            self.found.append((dict(attrs), ""))

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "script":
            self.found[-1] = (self.found[-1][0], self.found[-1][1] + data)


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
    text = text.replace("[engine]", 'regions = "regions.csv"\nregion_name = "called"\n\n[engine]')
    said = f"\n[publication]\npublisher = {json.dumps(PUBLISHER)}\ntitle = {json.dumps(SCRIPT)}\n"
    town.settings.write_text(text.replace("towers.csv", "towers.parquet") + said)
    of_cells = {"cell_id": cells["code"].tolist(), "region_id": ["N", "N", "S", "S"]}
    regions = pl.DataFrame({**of_cells, "called": [SCRIPT, SCRIPT, "South", "South"]})
    regions.write_csv(town.folder / "regions.csv")
    result = materialise(town.settings, tmp_path / "home", asset_selection=only(*NEEDED))
    assert verdicts(result)["release_is_readable"].passed
    store = Store(tmp_path / "home", "town", stamp_values(load_settings(town.settings)))
    assert set(store.read_week("visits", MONDAY)["user_id"]) == {f"{HOSTILE}ann", "bob"}
    released = pl.read_csv(store.release / f"density_{WEEK}.csv")
    assert set(released["cell_id"]) == {f"{HOSTILE}{code}" for code in ("SW", "SE", "NW", "NE")}
    assert set(pl.read_csv(store.release / f"regions_{WEEK}.csv")["region_name"]) == {"whole city", SCRIPT, "South"}
    every_kind_of_file_holds_names_as_they_are(store, set(released["cell_id"]))


def every_kind_of_file_holds_names_as_they_are(store, cell_ids):
    scripts = Scripts((store.release / f"report_{WEEK}.html").read_text()).found
    assert [kind for kind, _ in scripts].count({}) == len(scripts) - 1  # all ours, but for one of data
    (shown,) = (json.loads(text) for kind, text in scripts if kind)
    assert (set(shown["ids"]), shown["groups"][1][0]) == (cell_ids, SCRIPT)
    with closing(sqlite3.connect(store.release / f"density_{WEEK}.gpkg")) as connection:
        assert {id_ for (id_,) in connection.execute("select cell_id from cells")} == cell_ids
    entry = yaml.safe_load((store.release / f"dp_deployment_{WEEK}.yaml").read_text())["deployment"]["basic"]
    assert (entry["data_curators"], entry["name"][: len(SCRIPT)]) == ([PUBLISHER], SCRIPT)
    package = json.loads((store.release / f"datapackage_{WEEK}.json").read_text())
    assert package["contributors"][0]["title"] == PUBLISHER
    assert json.loads((store.release / f"dcat_{WEEK}.jsonld").read_text())["dct:publisher"]["foaf:name"] == PUBLISHER
    assert set(pl.read_csv(store.release / f"sdmx_{WEEK}.csv")["REF_AREA"]) == cell_ids


@pytest.mark.parametrize("formula", ['=HYPERLINK("//x"&A1)', "@SUM(A1)", "-2+3+cmd|' /C calc'!A0", "+f(1)"])
@pytest.mark.parametrize("published", ["a cell", "a region", "the name of a region"])
def test_what_a_spreadsheet_would_run_is_not_published(town, tmp_path, formula, published):
    if published == "a cell":
        cells = gpd.read_file(town.folder / "cells.geojson")
        cells["code"] = [formula, "-12_34", "+1", "a=b"]  # the others are names
        cells.to_file(town.folder / "cells.geojson", driver="GeoJSON")
    else:
        region, name = (formula, "North") if published == "a region" else ("N", formula)
        rows = [(cell, region, name) for cell in ("SW", "SE", "NW", "NE")]
        table = pl.DataFrame(rows, schema=["cell_id", "region_id", "region_name"], orient="row")
        table.write_csv(town.folder / "regions.csv")
        town.set("[engine]", 'regions = "regions.csv"\nregion_name = "region_name"\n\n[engine]')
    with pytest.raises(BadInput, match="formulas that a spreadsheet runs, found 1 that begin like one"):
        inspect(load_settings(town.settings), MONDAY, tmp_path / "home")
