"""Whether the newest week is out: asked by its name, said when it changes, and no part of any week's run."""

from datetime import UTC, datetime

import dagster as dg
import pytest
from runs import opened

from density_assets.definitions import build
from density_assets.graph.automation import Newest, check_key, newest
from density_assets.graph.naming import weekly_partitions

SIGNED = dg.AssetKey("signed_release")


def out(instance: dg.DagsterInstance, week: str) -> None:
    instance.report_runless_asset_event(dg.AssetMaterialization(SIGNED, partition=week))


@pytest.mark.parametrize(
    ("now", "week"),
    [
        ((2007, 9, 11, 9), None),  # Tuesday 11:00 in Paris: the week of the 3rd has ended a day ago
        ((2007, 9, 11, 11), "2007-09-03"),
        ((2007, 9, 17, 11), "2007-09-03"),
        ((2007, 9, 18, 11), "2007-09-10"),
    ],
)
def test_a_week_is_due_on_tuesday_noon(town, tmp_path, now, week):
    with dg.DagsterInstance.ephemeral() as instance:
        said = newest(opened(town.settings, tmp_path), instance, datetime(*now, tzinfo=UTC))
    assert said == (Newest(week, out=False) if week else None)


def test_an_old_week_that_is_made_again_does_not_pass_for_the_newest(town, tmp_path):
    city, now = opened(town.settings, tmp_path), datetime(2007, 9, 18, 11, tzinfo=UTC)
    with dg.DagsterInstance.ephemeral() as instance:
        out(instance, "2007-09-03")
        assert newest(city, instance, now) == Newest("2007-09-10", out=False)
        out(instance, "2007-09-10")
        assert newest(city, instance, now) == Newest("2007-09-10", out=True)


def test_the_sensor_says_it_when_it_changes_and_starts_nothing(town, tmp_path):
    town.set("first_week = 2007-09-03", "first_week = 2007-09-03\nlast_week = 2007-09-10")
    city = opened(town.settings, tmp_path)
    definitions = build(city)
    sensor = definitions.resolve_sensor_def("newest_week")

    def tick(cursor: str | None) -> tuple[list[bool], str | None]:
        said = sensor.evaluate_tick(dg.build_sensor_context(instance=instance, cursor=cursor, definitions=definitions))
        assert not said.run_requests
        assert {event.asset_check_key for event in said.asset_events} <= {check_key(city)}
        return [event.passed for event in said.asset_events], said.cursor

    with dg.DagsterInstance.ephemeral() as instance:
        said, cursor = tick(None)
        assert said == [False]
        assert tick(cursor)[0] == []
        out(instance, weekly_partitions(city).get_partition_keys()[-1])
        assert tick(cursor)[0] == [True]


def test_it_is_run_by_hand_and_by_no_job(town, tmp_path):
    city = opened(town.settings, tmp_path)
    definitions, name = build(city), "signed_release_newest_week_is_out"
    for job in ("weekly_release", "rebuild_release"):
        assert name not in {node.name for node in definitions.resolve_job_def(job).graph.nodes}
    with dg.DagsterInstance.ephemeral() as instance:
        by_hand = dg.AssetSelection.checks(check_key(city))
        job = dg.define_asset_job("by_hand", by_hand)
        run = dg.Definitions.merge(definitions, dg.Definitions(jobs=[job])).resolve_job_def("by_hand")
        (said,) = run.execute_in_process(instance=instance).get_asset_check_evaluations()
    assert (said.passed, said.severity) == (False, dg.AssetCheckSeverity.WARN)
