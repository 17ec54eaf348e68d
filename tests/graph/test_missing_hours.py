"""The hour that clocks skip carries no counts in what is published, in a city south of the equator."""

import json
from datetime import date
from pathlib import Path

import dagster as dg
import polars as pl
import pytest
from runs import materialise, opened
from sydney import SKIPPED, WEEK, make_sydney

from density_assets import definitions
from density_assets.cli.inspection import inspect
from density_assets.graph import step
from density_assets.graph.acting import AGAIN_TAG
from density_assets.graph.jobs import REBUILD
from density_assets.publication.files import DESCRIPTIONS, FURTHER_FILES
from density_assets.publication.layout import FIRST, NEWEST
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


def published(home: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (home / "sydney/release").glob(f"*_{WEEK}*") if file.is_file()}


def listed(home: Path) -> dict[str, dict[str, str]]:
    """What the manifest of the week lists."""
    return json.loads((home / f"sydney/release/manifest_{WEEK}.json").read_text())["files"]


def rebuild(sydney, home: Path, **tags: str) -> None:
    defs = definitions.build(opened(sydney.settings, home, sealed=False))
    with dg.DagsterInstance.ephemeral() as instance:
        defs.resolve_job_def(REBUILD).execute_in_process(instance=instance, partition_key=WEEK, tags=tags)


def test_a_week_that_was_signed_with_counts_there_keeps_them_until_somebody_says_otherwise(
    sydney, tmp_path, monkeypatch
):
    with monkeypatch.context() as before:  # as weeks were once published
        before.setattr(step, "layout_of", lambda *_, **__: FIRST)
        assert materialise(sydney.settings, tmp_path, WEEK, sealed=False).success
    signed = published(tmp_path)
    assert b"its counts mean nothing" in signed[f"data_dictionary_{WEEK}.md"]
    rebuild(sydney, tmp_path)
    assert published(tmp_path) == signed
    act = {"density/by": "op", "density/reason": "the hour that does not happen"}
    rebuild(sydney, tmp_path, **{AGAIN_TAG: "yes"}, **act)
    density = pl.read_parquet(tmp_path / f"sydney/release/density_{WEEK}.parquet")
    assert density.filter(hour=SKIPPED)["count"].sum() == 0
    old = pl.read_parquet(signed[f"density_{WEEK}.parquet"])
    hours = [hour for hour in range(168) if hour != SKIPPED]
    was, now = (table.filter(pl.col("hour").is_in(hours)).sort("cell_id", "hour")["count"] for table in (old, density))
    assert was.equals(now)
    assert (old.filter(hour=SKIPPED)["standard_error"] > 0).all()  # the count itself may be drawn as zero
    new = {f"{stem}_{WEEK}.{suffix}" for stem, suffix in (*FURTHER_FILES, *DESCRIPTIONS)}
    assert new & signed.keys() == set()
    assert new <= listed(tmp_path).keys()
    assert outcome(tmp_path / f"sydney/release/manifest_{WEEK}.json").status == 3
    accounts = opened(sydney.settings, tmp_path).ledger.accounts()
    first, second = (entry.body for entry in accounts.of("published"))
    assert (first.get("layout"), second["layout"], second["replaces"]) == (None, NEWEST, first["manifest"])
    assert (second["by"], second["reason"]) == ("op", "the hour that does not happen")
    assert (second["charges"], len(accounts.rows)) == (
        first["charges"],
        len(first["charges"]),
    )  # nothing was paid again
