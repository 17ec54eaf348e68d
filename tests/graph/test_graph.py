"""The asset graph on real runs of a small town: zones, metadata, data versions, and weeks that stay whole."""

import json
import re
from pathlib import Path

import dagster as dg
import duckdb
import polars as pl
import pytest
from documented import DOCS
from runs import MONDAY, WEEK, materialise, shown

from density_assets import definitions
from density_assets.city import City
from density_assets.research.studies import STUDIES, study_named
from density_assets.settings import Settings, load_settings
from resources.tables.stamps import stamp_values
from resources.tables.store import Store

NEXT = "2007-09-17"
ZONES = {"1_public": "public", "2_confidential": "confidential"}


def specs() -> list[dg.AssetSpec]:
    """The public and confidential assets, as Dagster knows them."""
    assets, _ = definitions.graph(City(Settings(), Path("nowhere")))  # a city is described without touching a disk
    return [spec for asset in assets for spec in asset.specs if spec.group_name in ZONES]


def test_every_asset_tells_its_zone_owner_and_story():
    assert len(specs()) == 14
    for spec in specs():
        assert spec.tags["zone"] == ZONES[spec.group_name]
        assert spec.owners
        assert spec.kinds
        assert spec.code_version
        assert len(spec.description) > 60
        weekly = spec.group_name != "1_public"
        assert (spec.partitions_def is not None) == weekly


def test_edges_follow_the_sql_and_nothing_public_reads_a_record():
    reads = {spec.key.to_user_string(): {dep.asset_key.to_user_string() for dep in spec.deps} for spec in specs()}
    assert reads["tower_series"] == {"visits", "truncated_visits", "towers"}
    assert reads["truncated_visits"] == {"visits", "towers"}
    assert reads["iris_series"] == {"tower_series", "overlaps", "towers", "cells"}
    open_to_all = {spec.key.to_user_string() for spec in specs() if spec.tags["zone"] == "public"}
    for name in open_to_all:
        assert reads[name] <= open_to_all


def test_a_week_end_to_end(released_once):
    town, home, result = released_once
    store = Store(home, "town", stamp_values(load_settings(town.settings)))
    with duckdb.connect(str(store.release_database), read_only=True) as connection:
        tables = {name for (name,) in connection.sql("show tables").fetchall()}
        geometry = {"cells", "antennas", "towers", "tower_cells", "overlaps", "cover"}
        assert tables == geometry | {
            "noisy_totals",
            "clusters",
            "noisy_series",
            "usual_week",
            "errors_of_sums",
            "smoothed_series",
            "density",
            "published_counts",
            "privacy_statement",
            "density_report",
            "signed_release",
            "ledger",
            "audit_page",
        }
        assert sorted(connection.sql("select kind, id from cover").fetchall())[0][0] in ("cell", "tower")
    with duckdb.connect(str(store.confidential / "confidential.duckdb"), read_only=True) as connection:
        columns = {name: connection.table(name).columns for (name,) in connection.sql("show tables").fetchall()}
    assert columns["visits"] == ["week", "user_id", "hour", "tower_id", "user_key"]
    assert columns["truncated_visits"] == columns["visits"]
    assert columns["tower_series"] == ["week", "tower_id", "hour", "original", "truncated", "weighted"]
    assert columns["iris_series"] == ["week", "cell_id", "hour", "original", "truncated"]
    # ann at tower A (two records, one visit), bob at tower D: towers stand in the middle of their cells
    series = store.read_week("iris_series", MONDAY)
    assert series.filter(pl.col("original") > 0).select("cell_id", "hour", "original").rows() == [
        ("SW", 8, pytest.approx(1)),
        ("NE", 68, pytest.approx(1)),
    ]
    cover = store.read_week("cover_series", MONDAY)
    assert cover["original"].sum() == pytest.approx(2)
    assert result.success


def test_columns_are_described_with_their_origin(released_once):
    *_, result = released_once
    schema = shown(result, "iris_series").metadata["dagster/column_schema"].value
    described = {column.name: column.description for column in schema.columns}
    assert {column.name: column.type for column in schema.columns} == {
        "cell_id": "string",
        "hour": "int64",
        "original": "double",
        "truncated": "double",
    }
    assert described["original"] == "visits before truncation ← tower_series.original, overlaps.share"
    lineage = shown(result, "tower_series").metadata["dagster/column_lineage"].value.deps_by_column
    assert {(dep.asset_key.to_user_string(), dep.column_name) for dep in lineage["hour"]} == {
        ("visits", "hour"),
        ("truncated_visits", "hour"),
    }
    for name in {spec.key.to_user_string() for spec in specs()}:
        for column in shown(result, name).metadata["dagster/column_schema"].value.columns:
            assert column.description


def test_metadata_of_real_data_shows_nothing_computed_from_it(town, tmp_path):
    town.write_visits("ann,2007-09-10 08:10:00,A\n,2007-09-10 08:50:00,A\nbob,2007-09-12 20:00:00,Z\n")
    result = materialise(town.settings, tmp_path)
    for spec in specs():
        if spec.tags["zone"] == "confidential":
            metadata = shown(result, spec.key.to_user_string()).metadata
            assert set(metadata) == {"dagster/column_schema", "dagster/column_lineage", "details"}
    about = Store(tmp_path, "town").confidential / "about"
    rejected = json.loads((about / "visits" / f"{WEEK}.json").read_text())
    assert rejected == {"rows": 1, "rejected": {"no user": 1, "unknown tower": 1}}
    assert (about / "iris_series" / f"{WEEK}_rhythm.png").stat().st_mode & 0o077 == 0


def test_metadata_of_a_synthetic_city_shows_pictures(town, tmp_path):
    town.set('visits = "visits/{week}/*.csv"', "users = 500")
    result = materialise(town.settings, tmp_path)
    assert "data:image/png;base64," in shown(result, "iris_series").metadata["rhythm"].value
    assert "data:image/png;base64," in shown(result, "cover_series").metadata["map"].value
    assert shown(result, "visits").metadata["rows"].value > 500


def versions(settings: Path, home: Path) -> dict[str, str]:
    """The data version of each public and confidential asset, after they were made once more."""
    result = materialise(settings, home, asset_selection=[spec.key for spec in specs()])
    return {
        spec.key.to_user_string(): shown(result, spec.key.to_user_string()).tags["dagster/data_version"]
        for spec in specs()
    }


def test_data_versions_follow_content_and_those_of_real_people_the_run(town, tmp_path):
    """Equal versions of equal records would tell whether records changed."""

    def unchanged(home: str) -> set[str]:
        later = versions(town.settings, tmp_path / home)
        return {name for name in first if first[name] == later[name]}

    first = versions(town.settings, tmp_path / "a")
    open_to_all = {spec.key.to_user_string() for spec in specs() if spec.tags["zone"] == "public"}
    assert unchanged("a") == unchanged("b") == open_to_all
    town.write_visits("ann,2007-09-10 09:10:00,A\n")
    assert unchanged("a") == open_to_all  # nobody learns that records changed


def test_data_versions_of_simulated_people_follow_their_content(town, tmp_path):
    town.set('visits = "visits/{week}/*.csv"', "users = 300")
    first = versions(town.settings, tmp_path)
    assert versions(town.settings, tmp_path) == first
    town.set("users = 300", "users = 301")
    later = versions(town.settings, tmp_path)
    assert {name for name in first if first[name] != later[name]} >= {"visits", "tower_series", "iris_series"}
    assert later["cells"] == first["cells"]


def test_a_failed_week_leaves_the_stored_one(released_town):
    town, home = released_town
    store = Store(home, "town")
    before = {file: file.read_bytes() for file in store.confidential.glob("weeks/**/*.parquet")}
    (town.visits / "part-0.csv").write_text("wrong,columns\n1,2\n")
    result = materialise(town.settings, home, raise_on_error=False)
    assert not result.success
    assert {file: file.read_bytes() for file in store.confidential.glob("weeks/**/*.parquet")} == before


def test_two_weeks_stand_side_by_side(released_town):
    town, home = released_town
    other = town.folder / "visits" / NEXT
    other.mkdir()
    (other / "part.csv").write_text("user_id,time,tower_id\ncid,2007-09-18 10:00:00,B\n")
    materialise(town.settings, home, NEXT)
    with duckdb.connect(str(home / "town/confidential/confidential.duckdb"), read_only=True) as connection:
        weeks = connection.sql("select week::varchar, count(*) from visits group by 1 order by 1").fetchall()
    assert weeks == [(WEEK, 2), (NEXT, 1)]


def test_the_page_of_assets_names_all_and_their_zones():
    page = (DOCS / "assets.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[^|]+`) \| (\w+) \|", page, re.MULTILINE)
    plans = {(plan.name, plan.zone.value) for plan in definitions.BLUEPRINTS}
    named = {(name, zone) for names, zone in rows for name in re.findall(r"`(\w+)`", names)}
    assert plans <= named
    assert named - plans <= {(study_named(name).asset_name, "evaluation") for name in STUDIES}
