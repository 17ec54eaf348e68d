"""The real web server and daemon: a backfill that queues, a lost run, alerts, and a server that only shows."""

import json
import os
import subprocess
import sys
import urllib.error
from itertools import pairwise

import dagster as dg
import pytest
from runs import WEEK, opened
from serving import ROOT, answer_when, asked, serving
from town import make_town

from density_assets.graph.instance import open_instance
from resources.ledger.ledger import Ledger

NEXT, EMPTY = "2007-09-17", "2007-09-24"
RUNS = """{ runsOrError { ... on Runs { results {
    runId status startTime endTime tags { key value }
} } } }"""
TICKS = """{ sensorOrError(sensorSelector: {
    repositoryLocationName: "density_assets", repositoryName: "__repository__", sensorName: "failure_alerts"
}) { ... on Sensor { sensorState { status ticks(limit: 1) { status } } } } }"""
BACKFILL = """mutation($weeks: [String!]) { launchPartitionBackfill(backfillParams: {
    selector: { partitionSetName: "weekly_release_partition_set", repositorySelector: {
        repositoryLocationName: "density_assets", repositoryName: "__repository__" } },
    partitionNames: $weeks
}) { __typename } }"""
ENDED = {"SUCCESS", "FAILURE", "CANCELED"}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A town with two weeks of files, somebody to alert, and a run whose process is gone."""
    folder = tmp_path_factory.mktemp("operations")
    town = make_town(folder)
    town.set("[engine]", '[alerts]\nfile = "alerts.jsonl"\n\n[engine]')
    other = town.folder / "visits" / NEXT
    other.mkdir()
    (other / "part.csv").write_text("user_id,time,tower_id\ncid,2007-09-18 10:00:00,B\n")
    home = folder / "home"
    instance_folder = open_instance(opened(town.settings, home))
    del os.environ["DAGSTER_HOME"]
    with dg.DagsterInstance.from_config(str(instance_folder)) as instance:

        @dg.job(name="weekly_release")
        def lost() -> None:
            pass

        run = instance.create_run_for_job(lost, status=dg.DagsterRunStatus.STARTED)
    return town, home, run.run_id


@pytest.fixture(scope="module")
def server(place):
    town, home, _ = place
    with serving(town.settings, home) as url:
        yield url


def week_of(run: dict) -> str | None:
    return {tag["key"]: tag["value"] for tag in run["tags"]}.get("dagster/partition")


def test_a_backfill_queues_for_the_tables_and_a_failed_week_is_reported(place, server):
    town, home, lost = place

    def alert_sensor_works(answer: dict) -> bool:
        return bool(answer["sensorOrError"].get("sensorState", {}).get("ticks"))

    assert alert_sensor_works(answer_when(server, TICKS, alert_sensor_works))
    launched = asked(server, BACKFILL, weeks=[WEEK, NEXT, EMPTY])
    assert launched["launchPartitionBackfill"]["__typename"] == "LaunchBackfillSuccess"

    def all_ended(answer: dict) -> bool:
        runs = answer["runsOrError"]["results"]
        return len(runs) == 4 and all(run["status"] in ENDED for run in runs)

    runs = answer_when(server, RUNS, all_ended)["runsOrError"]["results"]
    ended = {week_of(run) or run["runId"]: run["status"] for run in runs}
    # the run that had lost its process does not hold up the queue for ever
    assert ended == {WEEK: "SUCCESS", NEXT: "SUCCESS", EMPTY: "FAILURE", lost: "FAILURE"}
    in_order = sorted((run for run in runs if week_of(run)), key=lambda run: run["startTime"])
    assert all(before["endTime"] <= after["startTime"] for before, after in pairwise(in_order))
    assert [row.charge.week for row in Ledger(home).rows()].count(NEXT) == 2
    assert Ledger(home).verify() == 4

    alerts = town.folder / "alerts.jsonl"
    answer_when(server, RUNS, lambda _: alerts.exists())
    (alert,) = [json.loads(line) for line in alerts.read_text().splitlines()]
    assert (alert["job"], alert["week"], alert["step"]) == ("weekly_release", EMPTY, "visits")
    assert alert["error"].startswith(f"the week of {EMPTY} must have visit files")
    assert alert["run"] in {run["runId"] for run in runs}


def test_pages_of_other_sites_start_nothing(place, server):
    """The real server is the guarded one."""
    answer_when(server, RUNS, lambda answer: True)
    with pytest.raises(urllib.error.HTTPError, match="403"):
        asked(server, BACKFILL, {"Origin": "https://evil.example"}, weeks=[WEEK])
    with pytest.raises(urllib.error.HTTPError, match="403"):
        asked(server, RUNS, {"Host": "evil.example"})


def test_an_instance_is_served_once(place, server):
    town, home, _ = place
    answer_when(server, RUNS, lambda answer: True)
    command = [sys.executable, "-m", "density_assets", "ui", "--settings", str(town.settings), "--port", "1"]
    environment = {**os.environ, "DENSITY_HOME": str(home)}
    second = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert second.returncode == 2
    assert "is being served already: use that server, stop it, or look with READONLY=1" in second.stderr


def test_a_server_for_auditors_shows_everything_and_starts_nothing(place, server):
    town, home, _ = place
    with serving(town.settings, home, "--read-only") as url:

        def loaded(answer: dict) -> bool:
            return bool(answer["assetNodes"])

        assert loaded(answer_when(url, "{ assetNodes { id } }", loaded))
        before = asked(url, RUNS)
        refused = asked(url, BACKFILL, weeks=[WEEK])["launchPartitionBackfill"]["__typename"]
        assert refused == "UnauthorizedError"
        assert asked(url, RUNS) == before
        with pytest.raises(urllib.error.HTTPError, match="403"):
            asked(url, RUNS, {"Origin": "https://evil.example"})
