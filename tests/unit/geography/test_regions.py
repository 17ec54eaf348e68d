"""Regions: every cell in one, from a table or from a column of the cells file; anything else is refused by name."""

from pathlib import Path

import geopandas as gpd
import polars as pl
import pytest
from town import Town

from density_assets.errors import BadInput
from density_assets.geography.regions import Regions, city_regions, regions_from, regions_table
from density_assets.geography.source import city_cells
from density_assets.settings import load_settings

WHOLE = "cell_id,region_id,region\nSW,7,South\nSE,7,South\nNW,01,North\nNE,01,North\n"


def regions_of(town: Town, table: str, also: str = "") -> Regions:
    (town.folder / "regions.csv").write_text(table)
    town.set('cell_id = "code"', f'cell_id = "code"\nregions = "regions.csv"\n{also}')
    return found(town)


def found(town: Town) -> Regions:
    settings = load_settings(town.settings)
    regions = city_regions(settings, city_cells(settings).ids.tolist())
    assert regions is not None
    return regions


def test_a_table_names_the_region_of_every_cell(town: Town) -> None:
    regions = regions_of(town, WHOLE, 'region_name = "region"')
    assert regions.ids == ("01", "7")
    assert regions.names == ("North", "South")
    assert regions.of_cell.tolist() == [1, 1, 0, 0]  # the cells are SW, SE, NW, NE
    assert regions.areas.tolist() == [[0, 0, 1, 1], [1, 1, 0, 0]]


def test_names_are_identifiers_where_no_column_is_named(town: Town) -> None:
    assert regions_of(town, WHOLE).names == ("01", "7")


def test_the_column_of_cells_may_be_called_as_in_the_cells_file(town: Town) -> None:
    assert regions_of(town, WHOLE.replace("cell_id", "code")).of_cell.tolist() == [1, 1, 0, 0]


def test_a_column_of_the_cells_file_will_do(town: Town) -> None:
    file = town.folder / "cells.geojson"
    cells = gpd.read_file(file)
    cells["district"], cells["called"] = [2.0, 2.0, 1.0, 2.0], ["Dos", "Dos", "Uno", "Dos"]
    cells.to_file(file, driver="GeoJSON")
    town.set('cell_id = "code"', 'cell_id = "code"\nregion_id = "district"\nregion_name = "called"')
    regions = found(town)
    assert regions.ids == ("1", "2")  # whole numbers, though stored as floats
    assert regions.names == ("Uno", "Dos")
    assert regions.of_cell.tolist() == [1, 1, 0, 1]


def test_tables_are_csv_of_any_dialect(town: Town) -> None:
    assert regions_of(town, "\ufeff" + WHOLE.replace(",", ";")).ids == ("01", "7")


def test_parquet_is_read_too(town: Town) -> None:
    rows = {"cell_id": ["NE", "NW", "SE", "SW"], "region_id": [1, 1, 1, 2]}
    pl.DataFrame(rows).write_parquet(town.folder / "regions.parquet")
    town.set('cell_id = "code"', 'cell_id = "code"\nregions = "regions.parquet"')
    assert found(town).of_cell.tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("NE,01,North\n", "", "1 missing: NE"),
        ("NE,01,North\n", "NE,01,North\nXX,01,North\n", "1 unknown: XX"),
        ("NE,01,North\n", "NE,01,North\nNE,7,South\n", "1 there more than once: NE"),
        ("SW,7,South", "SW,,South", "1 cells without: SW"),
        ("SW,7,South", "SW,7,Sud", "1 with several: 7"),
        ("SW,7,South", "SW,7,So\x07uth", "control characters"),
        ("region_id", "district", "region_id must name a column of the file"),
    ],
)
def test_anything_else_is_refused_by_name(town: Town, old: str, new: str, said: str) -> None:
    assert old in WHOLE
    with pytest.raises(BadInput, match=said) as refused:
        regions_of(town, WHOLE.replace(old, new), 'region_name = "region"')
    assert "regions.csv" in str(refused.value)


def test_a_table_that_is_not_there_or_no_table_is_refused(town: Town, tmp_path: Path) -> None:
    town.set('cell_id = "code"', 'cell_id = "code"\nregions = "none.csv"')
    with pytest.raises(BadInput, match="must exist"):
        found(town)
    (town.folder / "none.csv").write_bytes(b"\xff\xfe\x00cell_id")
    with pytest.raises(BadInput, match=r"none\.csv"):
        found(town)


def test_a_city_may_have_none(town: Town) -> None:
    assert city_regions(load_settings(town.settings), ["SW"]) is None


def test_regions_are_kept_as_a_table(town: Town) -> None:
    regions = regions_of(town, WHOLE, 'region_name = "region"')
    again = regions_from(regions_table(["SW", "SE", "NW", "NE"], regions))
    assert (again.ids, again.names, again.of_cell.tolist()) == (regions.ids, regions.names, [1, 1, 0, 0])
