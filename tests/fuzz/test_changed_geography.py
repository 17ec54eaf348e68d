"""Cells and towers changed at random, in every format, are refused in words or can be used, with every id as it was."""

import geopandas as gpd
import numpy as np
import polars as pl
import pytest
from spoiled_files import raw_exceptions, spoiled_bytes, spoiled_json, spoiled_lines
from town import make_town

from density_assets.geography.cells import read_cells
from density_assets.geography.cells_and_towers import Cells, Towers, geography_hash
from density_assets.geography.footprints import read_footprints
from density_assets.geography.overlaps import interpolation, overlaps, tower_cells
from density_assets.geography.tables import antennas_table, cells_from, cells_table, towers_from, towers_table
from density_assets.geography.towers import read_towers

SHAPEFILE = ("shp", "dbf", "shx", "prj", "cpg")
WARNINGS = pytest.mark.filterwarnings("ignore")  # of GDAL and pandas, about what they make of such files


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    """The town with its cells and towers in every format."""
    folder = make_town(tmp_path_factory.mktemp("town")).folder
    cells = gpd.read_file(folder / "cells.geojson")
    cells.to_crs("EPSG:4326").to_file(folder / "degrees.geojson")
    for name in ("cells.gpkg", "cells.shp", "cells.fgb"):
        cells.to_file(folder / name)
    cells.to_parquet(folder / "cells.parquet")
    pl.read_csv(folder / "towers.csv").write_parquet(folder / "towers.parquet")
    exported = (folder / "towers.csv").read_text().replace(",", ";").replace(".", ",")
    (folder / "exported.csv").write_text(exported)
    rows = [f"{tower};{cell};0,5" for tower, cell in zip("ABCD", ["SW", "SE", "NW", "NE"], strict=True)]
    (folder / "footprints.csv").write_text("\n".join(["mast;square;chance", *rows]) + "\n")
    return folder


def towers_of(file, cells: Cells, tower_id: str | None = "name") -> Towers:
    return read_towers(file, tower_id=tower_id, x="x", y="y", crs="EPSG:2154", cells=cells)


def use(cells: Cells, towers: Towers) -> None:
    """What the public assets make of them."""
    listed, antennas = cells_table(cells), antennas_table(towers)
    assert listed["cell_id"].to_list() == cells.ids.tolist()
    assert not any("\0" in str(id_) for id_ in (*cells.ids, *towers.ids))
    sites = towers_from(towers_table(antennas))
    assert geography_hash(cells_from(listed), sites) == geography_hash(cells, towers)
    overlaps(tower_cells(towers.xy, cells.city), cells.polygons)


def changed_cells(town, folder, rng):
    """One file of the cells changed, the others of a shapefile as they were."""
    for suffix in SHAPEFILE:
        (folder / f"cells.{suffix}").write_bytes((town / f"cells.{suffix}").read_bytes())
    json, others = ("cells.geojson", "degrees.geojson"), ("cells.gpkg", "cells.parquet", "cells.fgb")
    name = rng.choice([*json, *json, *others, *(f"cells.{suffix}" for suffix in SHAPEFILE)])
    change = rng.choice([spoiled_json, spoiled_bytes]) if name in json else spoiled_bytes
    (folder / name).write_bytes(change((town / name).read_bytes(), rng))
    return folder / ("cells.shp" if name.split(".")[1] in SHAPEFILE else name)


@WARNINGS
@pytest.mark.parametrize(
    "seeds", [range(300), pytest.param(range(300, 5_000), marks=pytest.mark.nightly)], ids=["some", "many"]
)
def test_changed_cells_are_used_or_refused(town, tmp_path, seeds):
    used = []

    def attempt(rng):
        cells = read_cells(changed_cells(town, tmp_path, rng), "code")
        use(cells, towers_of(town / "towers.csv", cells))
        used.append(cells)

    assert raw_exceptions(seeds, attempt) == {}
    assert len(used) > len(seeds) // 10


@WARNINGS
@pytest.mark.parametrize(
    "seeds", [range(400), pytest.param(range(400, 10_000), marks=pytest.mark.nightly)], ids=["some", "many"]
)
def test_changed_towers_are_used_or_refused(town, tmp_path, seeds):
    cells, used = read_cells(town / "cells.geojson", "code"), []

    def attempt(rng):
        name = rng.choice(["towers.csv", "exported.csv", "towers.parquet"])
        change = rng.choice([spoiled_lines, spoiled_lines, spoiled_bytes]) if name.endswith("csv") else spoiled_bytes
        (tmp_path / name).write_bytes(change((town / name).read_bytes(), rng))
        use(cells, towers_of(tmp_path / name, cells, rng.choice(["name", None])))
        used.append(name)

    assert raw_exceptions(seeds, attempt) == {}
    assert len(used) > len(seeds) // 10


@WARNINGS
@pytest.mark.parametrize(
    "seeds", [range(200), pytest.param(range(200, 5_000), marks=pytest.mark.nightly)], ids=["some", "many"]
)
def test_changed_footprints_give_every_site_away_once_or_are_refused(town, tmp_path, seeds):
    cells = read_cells(town / "cells.geojson", "code")
    antennas, used = antennas_table(towers_of(town / "towers.csv", cells)), []

    def attempt(rng):
        change = rng.choice([spoiled_lines, spoiled_lines, spoiled_bytes])
        (tmp_path / "f.csv").write_bytes(change((town / "footprints.csv").read_bytes(), rng))
        columns = {"tower": "mast", "cell": "square", "share": "chance"}
        found = read_footprints(tmp_path / "f.csv", **columns, antennas=antennas, cell_ids=cells.ids.tolist())
        spread = interpolation(found.pieces)
        assert spread.min() >= 0
        assert np.allclose(spread.sum(axis=0), 1)
        used.append(found)

    assert raw_exceptions(seeds, attempt) == {}
    assert used
