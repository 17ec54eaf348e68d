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
NODES = "{ assetNodes { assetKey { path } groupName tags { key value } dependencyKeys { path } isPartitioned } }"
ENDED = {"SUCCESS", "FAILURE", "CANCELED"}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A town with two weeks of files, somebody to alert, and a run whose process is gone."""
    folder = tmp_path_factory.mktemp("operations")
    town = make_town(folder)
    town.set("[engine]", '[alerts]\nfile = "alerts.jsonl"\n\n[web]\nnames = ["density.example.org"]\n\n[engine]')
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


def test_the_server_shows_the_zones_and_the_edges(server):
    nodes = answer_when(server, NODES, lambda answer: bool(answer["assetNodes"]))["assetNodes"]
    by_name = {node["assetKey"]["path"][-1]: node for node in nodes}
    assert by_name["cover_graph"]["groupName"] == "1_public"
    assert by_name["truncated_visits"]["groupName"] == "2_confidential"
    assert {"key": "zone", "value": "confidential"} in by_name["visits"]["tags"]
    assert {dep["path"][-1] for dep in by_name["truncated_visits"]["dependencyKeys"]} == {"visits", "towers"}
    assert by_name["visits"]["isPartitioned"]
    assert not by_name["cells"]["isPartitioned"]


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
    assert [week_of(run) for run in in_order] == [WEEK, NEXT, EMPTY]
    stated = json.loads((home / f"town/release/privacy_statement_{NEXT}.json").read_text())
    assert [used["week"] for used in stated["estimate"]["weeks"]] == [WEEK]
    assert [row.charge.week for row in Ledger(home).rows()].count(NEXT) == 2
    assert len(Ledger(home).rows()) == 4

    alerts = town.folder / "alerts.jsonl"
    answer_when(server, RUNS, lambda _: alerts.exists())
    (alert,) = [json.loads(line) for line in alerts.read_text().splitlines()]
    assert (alert["job"], alert["week"], alert["step"]) == ("weekly_release", EMPTY, "visits")
    assert alert["error"].startswith(f"the week of {EMPTY} must have visit files")
    assert alert["run"] in {run["runId"] for run in runs}


MARKS = """{ assetNodes { assetKey { path } partitionStats { numMaterialized numFailed } } }"""


def test_a_week_that_may_not_be_replaced_keeps_its_marks(place, server):
    """A published week is started again over another list of towers: the run is cancelled, and nothing turns red."""
    town, _, _ = place

    def marks() -> dict[str, dict]:
        nodes = asked(server, MARKS)["assetNodes"]
        open_names = ("noisy_totals", "noisy_series", "density", "privacy_statement", "density_report")
        return {node["assetKey"]["path"][-1]: node["partitionStats"] for node in nodes
                if node["assetKey"]["path"][-1] in open_names}  # fmt: skip

    before = marks()
    assert all(found["numMaterialized"] == 2 for found in before.values())
    towers = town.folder / "towers.csv"
    towers.write_text(towers.read_text().replace("650500.0", "650400.0"))
    asked(server, BACKFILL, weeks=[WEEK])

    def ended(answer: dict) -> bool:
        runs = answer["runsOrError"]["results"]
        return len(runs) == 5 and all(run["status"] in ENDED for run in runs)

    runs = answer_when(server, RUNS, ended)["runsOrError"]["results"]
    assert sorted(run["status"] for run in runs if week_of(run) == WEEK) == ["CANCELED", "SUCCESS"]
    assert marks() == before


def test_other_sites_and_programs_without_the_token_start_nothing(place, server):
    """The real server is the guarded one."""
    answer_when(server, RUNS, lambda answer: True)
    for headers in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}, {"Authorization": ""}):
        with pytest.raises(urllib.error.HTTPError, match="403"):
            asked(server, BACKFILL, headers, weeks=[WEEK])


def test_the_token_is_for_the_one_who_started_the_server(place, server):
    _, home, _ = place
    answer_when(server, RUNS, lambda answer: True)
    file = home / "town/dagster/ui_token"
    assert file.stat().st_mode & 0o777 == 0o600
    assert len(file.read_text()) >= 43  # 256 bits
    (log,) = home.parent.glob(f"server{server.rpartition(':')[2]}.log")
    assert f"open {server}/?token={file.read_text()}\n" in log.read_text()


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
        for headers in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}):
            with pytest.raises(urllib.error.HTTPError, match="403"):
                asked(url, RUNS, headers)
        assert asked(url, RUNS, {"Host": "density.example.org", "Authorization": ""}) == before
