"""The files of a release."""

import json
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from shapely import box
from shapely.geometry import shape

from density_assets.calendar import week_clock
from density_assets.geography.cells_and_towers import Cells
from density_assets.publication.files import (
    Naming,
    clock_note,
    density_table,
    dictionary,
    digests,
    geojson,
    hour_start,
    in_degrees,
)
from density_assets.quality.released import Worth

PARIS = ZoneInfo("Europe/Paris")
ORDINARY, AUTUMN, SPRING = (week_clock(date(2007, *day), PARIS) for day in ((9, 10), (10, 22), (3, 19)))
CELLS = Cells(
    np.array(["a", "b"], dtype=object),
    np.array([box(650_000, 6_860_000, 651_000, 6_861_000), box(651_000, 6_860_000, 652_000, 6_861_000)], dtype=object),
    "EPSG:2154",
)

COUNTS = np.arange(2 * 168).reshape(2, 168)


def test_one_row_per_cell_and_hour_with_local_timestamps():
    table = density_table(CELLS, COUNTS, COUNTS / 3, ORDINARY)
    assert table.columns == ["cell_id", "hour", "timestamp", "count", "standard_error"]
    assert table.row(0) == ("a", 0, "2007-09-10T00:00:00+02:00", 0, 0.0)
    assert table.row(168 + 33) == ("b", 33, "2007-09-11T09:00:00+02:00", 201, 67.0)


def test_timestamps_of_weeks_in_which_clocks_change():
    assert hour_start(AUTUMN, 145).isoformat() == "2007-10-28T01:00:00+02:00"
    assert hour_start(AUTUMN, 146).isoformat() == "2007-10-28T02:00:00+02:00"  # the first of the two
    assert hour_start(AUTUMN, 147).isoformat() == "2007-10-28T03:00:00+01:00"
    assert hour_start(SPRING, 145).isoformat() == "2007-03-25T01:00:00+01:00"
    assert hour_start(SPRING, 146) is None
    assert hour_start(SPRING, 147).isoformat() == "2007-03-25T03:00:00+02:00"
    assert "146 happens twice" in clock_note(AUTUMN)
    assert "146 does not happen" in clock_note(SPRING)
    table = density_table(CELLS, COUNTS, COUNTS / 3, SPRING)
    assert table.filter(hour=146)["timestamp"].to_list() == [None, None]


def test_geojson_has_a_feature_per_cell_in_degrees():
    features = json.loads(geojson(CELLS, in_degrees(CELLS), counts=COUNTS))["features"]
    assert [feature["properties"]["cell_id"] for feature in features] == ["a", "b"]
    assert features[1]["properties"]["counts"] == COUNTS[1].tolist()
    assert features[0]["properties"]["area_km2"] == 1.0
    centre = shape(features[0]["geometry"]).centroid
    assert (centre.x, centre.y) == (pytest.approx(2.33, abs=0.02), pytest.approx(48.84, abs=0.02))


WORTH = Worth(release=0.1, flat=0.5)


def test_the_dictionary_of_a_final_estimate_says_so_below_its_title():
    first, final = (
        dictionary("town", "Europe/Paris", ORDINARY, None, WORTH, upto, {"density": ()})
        for upto in (None, "2007-09-24")
    )
    said = "Final estimate, with weeks up to 2007-09-24\n\n"
    assert final.startswith(f"# Data dictionary: town, week of 2007-09-10\n\n{said}| column | type")
    assert final.replace(said, "") == first


def test_revisions_stand_side_by_side(tmp_path):
    assert Naming(tmp_path, "2007-09-10", 1).file("density", "csv").name == "density_2007-09-10.csv"
    assert Naming(tmp_path, "2007-09-10", 2).file("density", "csv").name == "density_2007-09-10_r2.csv"


def test_digests_are_sha256(tmp_path):
    file = Path(tmp_path / "empty")
    file.touch()
    assert digests([file]) == {"empty": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}
