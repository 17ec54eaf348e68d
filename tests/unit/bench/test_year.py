"""The year of weeks that is measured: its town, and what is said of its costs; no week is released here."""

from datetime import timedelta
from pathlib import Path

import geopandas as gpd
import polars as pl

from bench import year
from bench.measure import Cost
from density_assets.settings import load_settings


def test_the_town_has_four_cells_and_towers_and_exactly_a_year_of_weeks(tmp_path: Path) -> None:
    settings = load_settings(year.town(tmp_path))
    assert settings.city.final_week == settings.city.first_week + timedelta(weeks=year.WEEKS - 1)
    cells, towers = gpd.read_file(tmp_path / "cells.geojson"), pl.read_csv(tmp_path / "towers.csv")
    assert (settings.city.synthetic, len(cells), len(towers)) == (True, 4, 4)


def test_the_last_weeks_are_compared_with_the_first_ones_that_have_a_past() -> None:
    costs = [Cost(seconds=2.0, processor=4.0, peak_mb=100.0) for _ in range(year.WEEKS)]
    costs[0] = Cost(99.0, 99.0, 99.0)  # the first week has no past
    costs[-4:] = [Cost(3.0, 5.0, 100.0)] * 4
    (row,) = year.ratios(costs)
    assert row == "| **weeks 49 to 52, as a multiple of weeks 2 to 5** | 1.25 | 1.50 | |"


def test_a_cost_is_shown_as_the_table_names_it() -> None:
    assert year.shown(Cost(seconds=10.55, processor=7.04, peak_mb=640.4)) == "7.0 | 10.6 | 640"
