"""How records are read is part of a table's stamp where it is not the default, and towers outside the city are not."""

import numpy as np
import polars as pl
import pytest
from shapely import box

from density_assets.geography.cells_and_towers import Cells
from density_assets.geography.tables import antennas_table, cells_table, towers_table
from density_assets.geography.towers import read_towers
from density_assets.settings import Settings, load_settings
from resources.tables.stamps import RELEVANT, difference, geography_stamp, stamp_of, stamp_values

OWN = """
[city]
name = "town"
cells = "cells.gpkg"
cell_id = "id"
towers = "towers.csv"
tower_id = "tower_id"
visits = "v/*.csv"
"""
CELLS = Cells(ids=np.array(["c"], dtype=object), polygons=np.array([box(0, 0, 1_000, 1_000)]), crs="EPSG:2154")


def stamps(tmp_path, line: str = "") -> dict:
    (tmp_path / "town.toml").write_text(OWN + line + "\n")
    return stamp_values(load_settings(tmp_path / "town.toml"))


def of_table(table: str, values: dict) -> dict:
    return stamp_of(table, {**values, "antennas": "a", "geography": "g"})


@pytest.mark.parametrize(
    "line", ["", 'visit_user = "user_id"', 'user_form = "as is"', 'visit_timezone = "Europe/Paris"', "visit_where = {}"]
)
def test_a_default_that_is_written_out_changes_no_stamp(tmp_path, line):
    source = {"format", "population", "timezone", "users", "seed", "antennas"}
    assert of_table("visits", stamps(tmp_path, line)).keys() == source


@pytest.mark.parametrize(
    "line",
    [
        'visit_user = "household"',  # of whom somebody else's week would be bounded
        'visit_time = "end"',
        'visit_tower = "last_cell"',
        'user_form = "trimmed"',
        'visit_date = "day"',
        'visit_time_format = "%d/%m/%Y %H"',
        'visit_timezone = "UTC"',
        "visit_where = {error = 0}",
    ],
)
def test_tables_of_records_that_were_read_otherwise_are_refused(tmp_path, line):
    before, now = stamps(tmp_path), stamps(tmp_path, line)
    for table in RELEVANT:
        assert "reading was" in difference(of_table(table, before), of_table(table, now))


def test_the_order_of_filters_is_no_difference(tmp_path):
    one, other = (stamps(tmp_path, f"visit_where = {{{pairs}}}") for pairs in ("a = 1, b = 'x'", "b = 'x', a = 1"))
    assert one == other


@pytest.mark.parametrize("other", ["1", "'true'", "'True'"])
def test_a_filter_by_a_truth_value_is_none_by_what_equals_it(tmp_path, other):
    one, two = (of_table("visits", stamps(tmp_path, f"visit_where = {{a = {value}}}")) for value in ("true", other))
    assert difference(one, two)


def test_simulated_people_are_read_by_nothing():
    assert "reading" not in stamp_values(Settings())


def antennas(tmp_path, *beyond: str) -> pl.DataFrame:
    rows = ["tower_id,x,y", "A,250,250", *beyond, "B,750,750", "B2,750,750"]
    (tmp_path / "towers.csv").write_text("\n".join(rows) + "\n")
    towers = read_towers(tmp_path / "towers.csv", tower_id="tower_id", x="x", y="y", crs="EPSG:2154", cells=CELLS)
    return antennas_table(towers)


def test_towers_outside_the_city_are_listed_without_a_site_and_change_no_stamp(tmp_path):
    near = antennas(tmp_path)
    far = antennas(tmp_path, "far,9000,9000", "farther,-9000,0")
    assert far.select("antenna_id", "tower_id", "site").rows() == [
        ("A", "A", 0),
        ("B", "B", 1),
        ("B2", "B", 1),
        ("far", None, None),
        ("farther", None, None),
    ]
    assert far.head(3).equals(near)
    assert towers_table(far).equals(towers_table(near))
    assert geography_stamp(far, cells_table(CELLS)) == geography_stamp(near, cells_table(CELLS))
