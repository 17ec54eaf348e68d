"""Where a city begins: with a grid in place of areas, and with files of this machine alone."""

import os
import re
from pathlib import Path

import polars as pl
import pytest
from pyproj import Transformer
from runs import MONDAY

from density_assets.cli.inspection import inspect
from density_assets.records.verdict import Verdict
from density_assets.settings import load_settings


def test_a_city_without_areas_begins_with_a_grid_around_its_antennas(init, town, tmp_path):
    """The zone and the coordinate system are those of most antennas: one stands at 0, 0."""
    rows = pl.read_csv(town.folder / "towers.csv")
    lon, lat = Transformer.from_crs(2154, 4326, always_xy=True).transform(rows["x"].to_numpy(), rows["y"].to_numpy())
    degrees = pl.DataFrame({"name": rows["name"], "lon": lon, "lat": lat}).with_columns(pl.col("lat", "lon").round(6))
    lost = pl.DataFrame({"name": ["lost"], "lon": [0.0], "lat": [0.0]})
    pl.concat([degrees, lost]).write_csv(town.folder / "degrees.csv")
    status, out, said = init("--yes", "--grid", "h3 8", cells=None, towers="degrees.csv")
    assert status == 0, said
    city = load_settings(out).city
    assert (city.grid, city.boundary, city.cells) == ("h3 8", None, None)
    assert (city.tower_crs, city.timezone) == ("EPSG:4326", "Europe/Paris")


def test_a_grid_within_a_boundary_takes_zone_and_coordinate_system_of_it(init, tmp_path):
    status, out, said = init("--yes", "--grid", "inspire 1km", "--boundary", "cells.geojson", cells=None)
    assert status == 0, said
    settings = load_settings(out)
    city = settings.city
    assert (city.grid, city.boundary, city.cells) == ("inspire 1km", Path("cells.geojson"), None)
    assert (city.tower_crs, city.timezone) == ("EPSG:2154", "Europe/Paris")
    found = inspect(settings, MONDAY, tmp_path / "home")
    assert found.verdict is Verdict.READY, str(found)


METRES = ("tower_crs=EPSG:2154", "timezone=Europe/Paris")


@pytest.mark.parametrize(
    ("words", "cells", "refusal"),
    [
        (("--grid", "inspire 1km"), "cells.geojson", "either --cells (areas of your own) or --grid"),
        (("--boundary", "cells.geojson"), None, "give --grid as well"),
        (("--grid", "1 km", *(f"--set={line}" for line in METRES)), None, "'inspire 1km'"),
        (("--grid", "h3 8"), None, "tower_crs and timezone of [city] could not be guessed"),
        ((), None, "or --grid 'inspire 1km' if you have none"),
        (("--grid", "h3 8", "--boundary", "postgresql://me:secret@h/d"), None, "--boundary must be a path of this"),
    ],
)
def test_a_grid_that_cannot_be_meant_is_refused(init, words, cells, refusal):
    status, out, said = init("--yes", *words, cells=cells)
    assert (status, refusal in said, "secret" in said, out.exists()) == (2, True, False, False), said


@pytest.mark.parametrize("option", ["--visits", "--cells", "--towers", "--set=visits"])
@pytest.mark.parametrize(
    "place",
    [
        "postgresql://me:secret@host/db",
        "PostgreSQL://me:secret@host/db",
        "jdbc:postgresql://host/db?password=secret",
        "jdbc:oracle:thin:me/secret@host:1521:db",
        "postgresql:me:secret:/db",
        "s3://me:secret@bucket/{week}/*.csv",
        "S3A://bucket/{week}/*.csv?key=secret",
    ],
)
def test_an_address_elsewhere_is_refused_and_a_password_in_it_never_repeated(init, option, place):
    given = (f"{option}={place}",) if "=" in option else (option, place)
    status, out, said = init("--yes", *given)
    assert (status, out.exists()) == (2, False), said
    assert re.search("must be files, got a database|path of this machine, got one of|a plain URL such as", said), said
    assert "secret" not in said


def test_records_at_a_url_begin_with_a_copy_of_some(init):
    status, out, said = init("--yes", visits="s3://bucket/cdr/{week}/*.parquet")
    assert (status, out.exists()) == (2, False)
    assert "copy or mount some of them here" in said
    assert 'engine.name = "spark"' in said


def test_a_name_that_no_settings_can_say_leaves_no_file(init, town):
    odd = os.fsdecode(b"t\xff.csv")
    (town.folder / "towers.csv").rename(town.folder / odd)
    status, out, said = init("--yes", towers=odd)
    assert (status, out.exists(), "names in settings must be UTF-8" in said) == (2, False, True), said
