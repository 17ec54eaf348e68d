"""The files of a release as others load them: tools that share no code with ours, and what is said of each file."""

import hashlib
import itertools
import json
import sqlite3
from contextlib import closing
from xml.etree import ElementTree as ET

import duckdb
import geopandas as gpd
import jsonschema
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from catalogues import checksums, entry_in, harvested
from frictionless import Package
from runs import WEEK, copied, materialise


@pytest.fixture(scope="module")
def folder(simulated_once):
    return simulated_once[1] / "town/release"


@pytest.fixture(scope="module")
def counts(folder):
    return pl.read_parquet(folder / f"density_{WEEK}.parquet")


def test_all_files_hold_the_same_visits(folder, counts):
    total = counts["count"].sum()
    layers = {name: gpd.read_file(folder / f"density_{WEEK}.gpkg", layer=name) for name in ("density", "cells")}
    assert {name: int(layer["count"].sum()) for name, layer in layers.items()} == {"density": total, "cells": total}
    assert gpd.read_parquet(folder / f"cells_{WEEK}.parquet")["count"].sum() == total
    assert pd.read_csv(folder / f"density_{WEEK}.csv")["count"].sum() == total
    assert pl.read_csv(folder / f"sdmx_{WEEK}.csv")["OBS_VALUE"].sum() == total
    assert duckdb.sql(f"select sum(count) from '{folder}/density_{WEEK}.parquet'").fetchall() == [(total,)]
    features = json.loads((folder / f"density_{WEEK}.geojson").read_text())["features"]
    assert sum(sum(feature["properties"]["counts"]) for feature in features) == total


def test_the_map_says_which_geoparquet_it_is(folder):
    said = json.loads(pq.read_schema(folder / f"cells_{WEEK}.parquet").metadata[b"geo"])
    assert (said["version"], said["primary_column"]) == ("1.1.0", "geometry")
    assert said["columns"]["geometry"]["encoding"] == "WKB"


def test_the_geopackage_has_what_qgis_animates_by(folder, counts):
    """A style for the layer, in the table where QGIS looks, whose columns of start and end are moments."""
    file = folder / f"density_{WEEK}.gpkg"
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]
        assert connection.execute("pragma foreign_key_check").fetchall() == []
        ((qml,),) = connection.execute(
            "select styleqml from layer_styles where f_table_name = 'density' and f_geometry_column = 'geom' "
            "and useasdefault and f_table_schema = ''"
        ).fetchall()
    temporal = ET.fromstring(qml).find("temporal")
    assert (temporal.get("enabled"), temporal.get("mode"), temporal.get("limitMode")) == ("1", "2", "0")
    layer = gpd.read_file(file, layer="density")
    starts, ends = layer[temporal.get("startField")], layer[temporal.get("endField")]
    assert ((ends - starts) == pd.Timedelta(hours=1)).all()
    assert set(starts) == set(counts["timestamp"].dt.convert_time_zone("UTC").to_list())
    ranges = [(float(one.get("lower")), float(one.get("upper"))) for one in ET.fromstring(qml).iter("range")]
    assert ranges[0][0] == 0
    assert ranges[-1][1] >= counts["count"].max()
    assert all(upper == lower for (_, upper), (lower, _) in itertools.pairwise(ranges))


def test_the_geopackage_is_a_whole_database(folder):
    with closing(sqlite3.connect(folder / f"density_{WEEK}.gpkg")) as connection:
        assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]


def test_offices_get_every_observation_with_its_protection(folder, counts):
    table = pl.read_csv(folder / f"sdmx_{WEEK}.csv")
    assert table.columns[:6] == ["STRUCTURE", "STRUCTURE_ID", "ACTION", "FREQ", "REF_AREA", "TIME_PERIOD"]
    assert table.columns[6:] == ["OBS_VALUE", "STD_ERR", "EPSILON", "DELTA", "PRIVACY_UNIT"]
    assert table.select("EPSILON", "DELTA", "PRIVACY_UNIT").unique().rows() == [(0.3, 1e-7, "SUBSCRIBER_WEEK")]
    assert len(table) == len(counts) == table.select("REF_AREA", "TIME_PERIOD").n_unique()


def test_the_noisy_measurements_are_those_of_the_draws(folder):
    table = pl.read_parquet(folder / f"measurements_{WEEK}.parquet")
    drawn = [
        pl.read_parquet(folder / f"tables/{door}/{WEEK}.parquet")["value"] for door in ("noisy_totals", "noisy_series")
    ]
    assert table["value"].to_list() == [*drawn[0], *drawn[1]]
    assert table.filter(query="number of visits, each user's clamped").height + table.filter(query="visits").height == 1


def test_the_data_package_describes_every_file_as_it_is(folder):
    package = json.loads((folder / f"datapackage_{WEEK}.json").read_text())
    assert package["$schema"] == "https://datapackage.org/profiles/2.0/datapackage.json"
    assert package["licenses"] == [{"name": "CC-BY-4.0"}]
    assert package["contributors"] == [
        {"title": "Office of the Town", "email": "data@town.example", "roles": ["publisher"]}
    ]
    for resource in package["resources"]:
        content = (folder / resource["path"]).read_bytes()
        assert (resource["bytes"], resource["hash"]) == (len(content), f"sha256:{hashlib.sha256(content).hexdigest()}")
        if resource["format"] == "parquet":
            names = [field["name"] for field in resource["schema"]["fields"]]
            assert names == pq.read_schema(folder / resource["path"]).names
            assert all(field["description"] for field in resource["schema"]["fields"])
    listed = json.loads((folder / f"manifest_{WEEK}.json").read_text())["files"]
    described = {resource["path"] for resource in package["resources"]}
    assert {name for name in listed if name.endswith((".parquet", ".csv", ".geojson", ".gpkg"))} <= described


def test_the_tool_of_data_packages_finds_files_as_they_are_described(folder):
    file = folder / f"datapackage_{WEEK}.json"
    assert Package.validate_descriptor(str(file)).valid
    package = Package(str(file))
    for resource in [one for one in package.resources if one.format == "parquet"]:
        package.remove_resource(resource.name)  # of these it counts no bytes, and it takes empty integers for NaN
    report = package.validate()
    assert (report.valid, report.flatten(["message"])) == (True, [])
    assert {"text", "table", "json", "file"} == {task.type for task in report.tasks}


def test_the_schema_of_the_text_file_is_that_of_its_rows(folder):
    """Every value of the CSV file is of the type that the data package says."""
    package = json.loads((folder / f"datapackage_{WEEK}.json").read_text())
    (table,) = (one for one in package["resources"] if one["path"] == f"density_{WEEK}.csv")
    kinds = {"integer": "integer", "number": "number", "string": "string", "date": "string", "datetime": "string"}
    properties = {field["name"]: {"type": kinds[field["type"]]} for field in table["schema"]["fields"]}
    schema = {"properties": properties, "required": list(properties), "additionalProperties": False}
    rows = pl.read_csv(folder / table["path"]).rows(named=True)
    jsonschema.validate(rows, {"type": "array", "items": schema})
    assert next(iter(rows)).keys() == properties.keys()


def test_the_registry_entry_has_every_field_and_no_other(folder):
    entry = entry_in(folder / f"dp_deployment_{WEEK}.yaml")
    loss = entry["deployment"]["privacy_loss"]["privacy_parameters"]
    said = json.loads((folder / f"privacy_statement_{WEEK}.json").read_text())
    assert (loss["epsilon"], loss["delta"]) == (said["epsilon"], said["delta"])
    assert entry["deployment"]["basic"]["data_curators"] == ["Office of the Town"]


def test_portals_find_every_file_that_data_packages_do(folder):
    graph = harvested(folder / f"dcat_{WEEK}.jsonld")
    described = json.loads((folder / f"datapackage_{WEEK}.json").read_text())["resources"]
    files = [folder / resource["path"] for resource in described]
    assert checksums(graph) == {file.as_uri(): hashlib.sha256(file.read_bytes()).digest() for file in files}
    assert len(files) == 12
    assert all(name.startswith("http") for name in graph.predicates())  # every prefix is known


def test_a_publisher_who_moves_does_not_change_what_is_published(simulated_once, tmp_path):
    """Files of a published week are made again with the words they were signed with."""
    town, home = copied(*simulated_once[:2], tmp_path)
    folder = home / "town/release"
    before = {file.name: file.read_bytes() for file in folder.glob(f"*_{WEEK}.*")}
    town.set("data@town.example", "elsewhere@town.example")
    materialise(town.settings, home)
    assert {file.name: file.read_bytes() for file in folder.glob(f"*_{WEEK}.*")} == before
