"""Inputs may lie anywhere, except among what this software keeps."""

import pytest

from density_assets.city import City
from density_assets.definitions import build
from density_assets.errors import BadInput
from density_assets.records.confinement import named_files, refuse_kept
from density_assets.records.found_files import is_complete, record_files
from density_assets.settings import load_settings
from resources.tables.store import Store


def test_own_files_may_lie_beside_the_cities_of_the_home_and_be_links(tmp_path):
    home = tmp_path / "home"
    Store(home, "town")
    mine = home / "my_files" / "confidential.csv"
    mine.parent.mkdir()
    mine.touch()
    (tmp_path / "link.csv").symlink_to(mine)
    refuse_kept([mine, tmp_path / "link.csv", tmp_path / "elsewhere.csv"], home)


@pytest.mark.parametrize(
    "kept",
    [
        "town/confidential/secret",
        "town/release/release.duckdb",
        "town/release/tables/cells.parquet",
        "town/locks/release.lock",
        "ledger.sqlite",
    ],
)
def test_what_is_kept_is_no_input_however_it_is_named(tmp_path, kept):
    home = tmp_path / "home"
    Store(home, "town")
    (home / kept).parent.mkdir(parents=True, exist_ok=True)
    (home / kept).touch()
    (tmp_path / "cells.gpkg").symlink_to(home / kept)
    for name in (home / kept, tmp_path / "cells.gpkg", home / "town" / ".." / kept):
        with pytest.raises(BadInput, match="must not be what this software keeps"):
            refuse_kept([name], home)


def test_public_lists_are_looked_at_before_anything_loads(town, tmp_path):
    settings = load_settings(town.settings)
    assert [file.name for file in named_files(settings)] == ["cells.geojson", "towers.csv"]
    home = tmp_path / "home"
    secret = Store(home, "town").confidential / "visits.csv"
    (town.folder / "towers.csv").replace(secret)
    (town.folder / "towers.csv").symlink_to(secret)
    with pytest.raises(BadInput, match=r"towers.csv is .*confidential/visits.csv"):
        build(City(settings, home))


def test_alerts_are_not_written_over_what_is_kept(town, tmp_path):
    town.set("[engine]", f'[alerts]\nfile = "{tmp_path}/home/ledger.sqlite"\n[engine]')
    with pytest.raises(BadInput, match=r"must not be what this software keeps, ledger\.sqlite"):
        build(City(load_settings(town.settings), tmp_path / "home"))
    town.set(f"{tmp_path}/home/ledger.sqlite", "../alerts.jsonl")
    with pytest.raises(BadInput, match=r"alerts.file: paths must not climb"):
        load_settings(town.settings)


def test_only_the_pattern_has_wildcards_not_the_folder_it_starts_at(town, tmp_path):
    from datetime import date

    odd = tmp_path / "data [2007]"
    town.folder.rename(odd)
    week = date(2007, 9, 10)
    assert [file.name for file in record_files("visits/{week}/*.csv", week, odd)] == ["part-0.csv"]
    assert is_complete("visits/{week}/*.csv", week, odd)
