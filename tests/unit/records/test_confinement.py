"""Inputs may lie anywhere, except among what this software keeps."""

from datetime import date

import polars as pl
import pytest

from density_assets.city import City
from density_assets.definitions import build
from density_assets.errors import BadInput
from density_assets.graph.worker import hidden_from_releases
from density_assets.records.files import is_complete, named_files, record_files, refuse_our_files
from density_assets.settings import load_settings
from resources.tables.store import Store
from resources.tables.weeks import note_root, roots_under


def test_own_files_may_lie_beside_the_cities_of_the_home_and_be_links(tmp_path):
    home = tmp_path / "home"
    Store(home, "town")
    mine = home / "my_files" / "confidential.csv"
    mine.parent.mkdir()
    mine.touch()
    (tmp_path / "link.csv").symlink_to(mine)
    refuse_our_files([mine, tmp_path / "link.csv", tmp_path / "elsewhere.csv"], home)


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
            refuse_our_files([name], home)


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
    settings = load_settings(odd / "town.toml").model_copy(update={"folder": odd})
    assert [file.name for file in record_files(settings, week)] == ["part-0.csv"]
    assert is_complete(settings, week)


@pytest.mark.parametrize(
    "place", ["file:///kept", "local:///kept", "s3a://bucket/kept", "s3://bucket//kept", "s3://b/../c"]
)
@pytest.mark.parametrize("key", ["[storage]\nweeks", "visits"])
def test_a_place_has_one_name(town, key, place):
    """Else a confidential week could be named as an input, and no wall would know of it."""
    if key == "visits":
        town.set('"visits/{week}/*.csv"', f'"{place}/{{week}}/*.parquet"')
    else:
        town.set("[engine]", f'{key} = "{place}"\n[engine]')
    with pytest.raises(BadInput, match="must have one name only: write"):
        load_settings(town.settings)


def test_weeks_of_any_city_are_no_input_wherever_they_lie(tmp_path):
    home, kept = tmp_path / "home", tmp_path / "kept"
    kept.mkdir()
    (tmp_path / "link").symlink_to(kept)
    Store(home, "village", None, str(tmp_path / "link"))
    note_root(Store(home, "hamlet").confidential, "s3://bucket/kept/hamlet")
    roots, away = roots_under(home), "s3://bucket/kept/hamlet/a.parquet"
    for name in (kept / "village" / "a.parquet", tmp_path / "link" / "village" / "a.parquet", away):
        with pytest.raises(BadInput, match="must not be what this software keeps"):
            refuse_our_files([name], home, roots)
    refuse_our_files([kept / "mine.csv", "s3://bucket/kept/hamlets/a.parquet"], home, roots)


def test_released_steps_open_neither_weeks_of_any_city_nor_what_opens_a_store(town, tmp_path, monkeypatch):
    home, visits = tmp_path / "home", pl.DataFrame({"user_id": [1]})
    for city in ("village", "hamlet"):
        Store(home, city, None, str(tmp_path / city)).write_week("visits", date(2007, 9, 10), visits)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in (".pgpass", "service.conf", "token"):
        (tmp_path / name).touch()
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "service.conf"))
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "token"))
    hidden = hidden_from_releases(City(load_settings(town.settings), home))
    wanted = {tmp_path / name for name in (".pgpass", "service.conf", "token", "village/village", "hamlet/hamlet")}
    assert wanted <= set(hidden)
