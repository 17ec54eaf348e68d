"""The hour that clocks skip carries no counts in what is published, in a city south of the equator."""

import json
from datetime import date
from pathlib import Path

import polars as pl
import pytest
from runs import materialise
from sydney import SKIPPED, WEEK, make_sydney

from density_assets.cli.inspection import inspect
from density_assets.publication.verification import outcome
from density_assets.records.verdict import Verdict
from density_assets.settings import load_settings


@pytest.fixture(scope="module")
def sydney(tmp_path_factory):
    return make_sydney(tmp_path_factory.mktemp("files") / "sydney")


@pytest.fixture(scope="module")
def release(sydney, tmp_path_factory) -> Path:
    """The published files of the week."""
    home = tmp_path_factory.mktemp("home")
    assert materialise(sydney.settings, home, WEEK).success
    return home / "sydney/release"


def test_check_reads_the_records_on_the_clocks_of_the_city(sydney, tmp_path):
    found = inspect(load_settings(sydney.settings), date.fromisoformat(WEEK), tmp_path)
    said = str(found)
    assert f"hours {SKIPPED} do not happen" in said
    assert "EPSG:32756" in said  # the UTM zone of the south
    assert "24,000 usable" in said
    assert found.verdict is not Verdict.NOT_READY


def test_the_skipped_hour_has_rows_and_no_counts(release):
    density = pl.read_parquet(release / f"density_{WEEK}.parquet")
    assert density.group_by("cell_id").len()["len"].to_list() == [168] * 4
    skipped, others = density.filter(hour=SKIPPED), density.filter(pl.col("hour") != SKIPPED)
    assert set(skipped.select("timestamp", "count", "standard_error").iter_rows()) == {(None, 0, 0.0)}
    assert others["timestamp"].null_count() == 0
    assert (others["standard_error"] > 0).all()
    before = others.filter(pl.col("hour").is_in([SKIPPED - 1, SKIPPED + 1])).sort("cell_id", "hour")["timestamp"]
    assert [moment.isoformat() for moment in before.head(2)] == [
        "2007-10-28T01:00:00+10:00",
        "2007-10-28T03:00:00+11:00",
    ]


def test_every_file_says_the_same_and_verifies(release):
    geojson = json.loads((release / f"density_{WEEK}.geojson").read_text())
    assert [feature["properties"]["counts"][SKIPPED] for feature in geojson["features"]] == [0] * 4
    sums = pl.read_parquet(release / f"errors_of_sums_{WEEK}.parquet")
    assert SKIPPED not in sums["hour"].to_list()
    assert {SKIPPED - 1, SKIPPED + 1} < set(sums["hour"].to_list())
    said = f"hour {SKIPPED} does not happen; its counts are zero, and certain"
    page = (release / f"report_{WEEK}.html").read_text()
    assert said in (release / f"data_dictionary_{WEEK}.md").read_text()
    assert said in page
    assert f'"missing": [{SKIPPED}]' in page or f'"missing":[{SKIPPED}]' in page
    assert outcome(release / f"manifest_{WEEK}.json").status == 3  # nothing is wrong; who signed was not asked
