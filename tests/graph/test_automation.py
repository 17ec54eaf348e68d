"""What starts by itself, whether the newest week is out, and who is told of a failure."""

import json
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import dagster as dg
import pytest
from dagster._utils.schedules import cron_string_iterator
from runs import WEEK, only, opened

from density_assets.city import City
from density_assets.definitions import build
from density_assets.errors import BadInput
from density_assets.graph.automation import (
    FOLLOWERS,
    Newest,
    check_key,
    newest,
    sensors,
    weekly_release,
    weekly_schedule,
)
from density_assets.graph.naming import weekly_partitions
from density_assets.settings import Settings, load_settings
from density_assets.settings.city import CitySettings

PARIS = ZoneInfo("Europe/Paris")
GEOGRAPHY = only("cells", "antennas", "towers")


def monday(year: int, month: int, day: int) -> datetime:
    return datetime(year, month, day, 6, tzinfo=PARIS)


def simulated(home: Path) -> City:
    return City(Settings(), home)


def schedule_of(city: City) -> dg.ScheduleDefinition:
    return weekly_schedule(city, weekly_release(city, weekly_partitions(city)))


def week_started(moment: datetime, city: City) -> str | None:
    repository = build(city).get_repository_def()
    with dg.DagsterInstance.ephemeral() as instance:
        context = dg.build_schedule_context(instance, moment, repository_def=repository)
        tick = repository.get_schedule_def("every_monday").evaluate_tick(context)
    assert len(tick.run_requests) <= 1
    assert tick.run_requests or tick.skip_message
    for request in tick.run_requests:
        assert request.run_key == request.partition_key  # Dagster starts a key once
        return request.partition_key
    return None


def test_the_schedule_waits_for_a_person_to_turn_it_on(tmp_path):
    assert schedule_of(simulated(tmp_path)).default_status is dg.DefaultScheduleStatus.STOPPED


@pytest.mark.parametrize(
    ("change", "hours"),
    [
        (datetime(2008, 3, 30, tzinfo=UTC), [5, 5, 4, 4]),  # Sunday, clocks go forward
        (datetime(2007, 10, 28, tzinfo=UTC), [4, 4, 5, 5]),  # Sunday, clocks go back
    ],
)
def test_it_ticks_on_mondays_at_six_on_the_citys_clocks_also_when_they_change(change, hours, tmp_path):
    city = simulated(tmp_path)
    schedule = schedule_of(city)
    ticks = cron_string_iterator(change.timestamp() - 13 * 86400, schedule.cron_schedule, schedule.execution_timezone)
    found = [next(ticks) for _ in hours]
    assert [tick.astimezone(UTC).hour for tick in found] == hours
    assert {(tick.astimezone(PARIS).weekday(), tick.astimezone(PARIS).hour) for tick in found} == {(0, 6)}
    closed = [str(tick.astimezone(PARIS).date() - timedelta(days=7)) for tick in found]
    assert [week_started(tick, city) for tick in found] == closed


def test_before_the_first_week_has_ended_nothing_is_started(tmp_path):
    assert week_started(monday(2007, 9, 10), simulated(tmp_path)) is None
    assert week_started(monday(2007, 9, 17), simulated(tmp_path)) == "2007-09-10"


def test_after_the_last_week_nothing_is_started_and_none_is_offered(tmp_path):
    weeks = CitySettings(last_week=date(2007, 9, 17))
    city = City(Settings(city=weeks), tmp_path)
    assert weekly_partitions(city).get_partition_keys() == ["2007-09-10", "2007-09-17"]
    assert week_started(monday(2007, 9, 24), city) == "2007-09-17"
    assert week_started(monday(2007, 10, 1), city) is None


def test_people_who_do_not_exist_live_for_a_year_and_real_ones_on(town, tmp_path):
    weeks = weekly_partitions(simulated(tmp_path)).get_partition_keys()
    assert (len(weeks), weeks[-1]) == (52, "2008-09-01")
    real = weekly_partitions(opened(town.settings, tmp_path))
    assert date.today() - date.fromisoformat(real.get_partition_keys()[-1]) < timedelta(days=14)


def test_a_week_whose_files_are_not_complete_is_left_to_the_sensor_or_a_person(town, tmp_path):
    city = opened(town.settings, tmp_path)
    assert week_started(monday(2007, 9, 17), city) == WEEK
    (town.visits / "_SUCCESS").unlink()
    assert week_started(monday(2007, 9, 17), city) is None


# --- the sensor ---------------------------------------------------------------------------------------------


def requested(town, home: Path, instance: dg.DagsterInstance) -> list[str]:
    definitions = build(opened(town.settings, home))
    sensor = definitions.resolve_sensor_def("complete_weeks")
    tick = sensor.evaluate_tick(dg.build_sensor_context(instance=instance, definitions=definitions))
    assert all(request.run_key == request.partition_key for request in tick.run_requests)
    return [request.partition_key for request in tick.run_requests]


def test_a_week_is_started_when_its_files_are_complete_and_not_released(town, tmp_path):
    for week in ("2007-09-17", "2007-09-24", "2099-01-05"):
        folder = town.folder / "visits" / week
        folder.mkdir()
        (folder / "part.csv").write_text("user_id,time,tower_id\n")
    (town.folder / "visits/2007-09-24/_SUCCESS").touch()
    (town.folder / "visits/2099-01-05/_SUCCESS").touch()  # complete, but it has not ended
    with dg.DagsterInstance.ephemeral() as instance:
        assert requested(town, tmp_path, instance) == [WEEK, "2007-09-24"]
        instance.report_runless_asset_event(dg.AssetMaterialization("density", partition=WEEK))
        assert requested(town, tmp_path, instance) == ["2007-09-24"]


OPENED: list[str] = []


def test_the_sensor_never_opens_a_visit_file(town, tmp_path):
    def note(event, arguments):
        if event == "open":
            OPENED.append(str(arguments[0]))

    with dg.DagsterInstance.ephemeral() as instance:
        sys.addaudithook(note)
        town.visits.joinpath("_SUCCESS").read_bytes()
        assert any("_SUCCESS" in name for name in OPENED)  # the hook sees files
        OPENED.clear()
        assert requested(town, tmp_path, instance) == [WEEK]
    assert [name for name in OPENED if str(town.visits) in name] == []


@pytest.mark.parametrize(
    ("named", "setting"),
    [
        (f"visits/{WEEK}/*.csv", "city.visits"),
        ('visits/{week}/*.csv"\nvisits_complete = "a/done', "city.visits_complete"),
    ],
)
def test_files_without_a_week_in_their_name_start_nothing_and_say_why(town, tmp_path, named, setting):
    town.set("visits/{week}/*.csv", named)
    definitions = build(opened(town.settings, tmp_path))
    sensor = definitions.resolve_sensor_def("complete_weeks")
    with dg.DagsterInstance.ephemeral() as instance:
        tick = sensor.evaluate_tick(dg.build_sensor_context(instance=instance, definitions=definitions))
    assert not tick.run_requests
    assert tick.skip_message.startswith(f"{setting} must hold {{week}}")
    # A `_SUCCESS` beside the files of all weeks does not know of next Monday's.
    assert week_started(monday(2007, 9, 17), opened(town.settings, tmp_path)) is None


def test_a_synthetic_city_has_nothing_to_wait_for(town, tmp_path):
    town.set('visits = "visits/{week}/*.csv"', "users = 500")
    assert not build(opened(town.settings, tmp_path)).sensors


# --- alerts ---------------------------------------------------------------------------------------------------


def alerts_of_failing(town, home: Path, monkeypatch, error: Exception) -> list[dict]:
    """What is written when reading the week's files raises an error."""

    def fail(*_):
        raise error

    monkeypatch.setattr("density_assets.graph.confidential.record_files", fail)
    town.set("[engine]", '[alerts]\nfile = "alerts.jsonl"\n\n[engine]')
    definitions = build(opened(town.settings, home))
    sensor = definitions.resolve_sensor_def("failure_alerts")
    with dg.DagsterInstance.ephemeral() as instance:
        result = definitions.resolve_job_def("weekly_release").execute_in_process(
            instance=instance,
            partition_key=WEEK,
            asset_selection=[*GEOGRAPHY, *only("visits")],
            raise_on_error=False,
        )
        (failure,) = (event for event in result.all_events if event.event_type_value == "PIPELINE_FAILURE")
        sensor(
            dg.build_run_status_sensor_context(
                sensor_name="failure_alerts",
                dagster_event=failure,
                dagster_instance=instance,
                dagster_run=result.dagster_run,
            ).for_run_failure()
        )
    assert sensor.default_status is dg.DefaultSensorStatus.RUNNING
    found = [json.loads(line) for line in (town.folder / "alerts.jsonl").read_text().splitlines()]
    assert all(alert["run"] == result.run_id for alert in found)
    return found


def test_of_a_run_of_two_cities_each_is_told_its_own_steps(town, tmp_path):
    """As where somebody materialises assets of both by hand."""
    town.set("[engine]", '[alerts]\nfile = "alerts.jsonl"\n\n[engine]')
    city = City(load_settings(town.settings), tmp_path / "home", others=(Settings(),))
    (tmp_path / "home/_dagster").mkdir(parents=True)

    def failing(name: str) -> dg.AssetsDefinition:
        @dg.asset(key=[name, "cells"])
        def cells() -> None:
            raise BadInput(f"what {name} did")

        return cells

    assets = [failing("embedded"), failing("town")]
    definitions = dg.Definitions(assets, jobs=[dg.define_asset_job("both", [asset.key for asset in assets])])
    (sensor,) = [sensor for sensor in sensors(city, None) if sensor.name == "town_failure_alerts"]
    with dg.DagsterInstance.ephemeral() as instance:
        result = definitions.resolve_job_def("both").execute_in_process(
            instance=instance, raise_on_error=False, asset_selection=[asset.key for asset in assets]
        )
        context = dg.build_run_status_sensor_context(
            sensor_name=sensor.name,
            dagster_instance=instance,
            dagster_run=result.dagster_run,
            dagster_event=result.get_run_failure_event(),
        )
        sensor(context.for_run_failure())
    alerts = [json.loads(line) for line in (town.folder / "alerts.jsonl").read_text().splitlines()]
    assert [alert["step"] for alert in alerts] == ["town__cells"]
    assert "what embedded did" not in str(alerts)


def test_an_alert_names_run_job_week_step_and_our_error(town, tmp_path, monkeypatch):
    error = BadInput("the week must have visit files\nand a second line")
    (alert,) = alerts_of_failing(town, tmp_path, monkeypatch, error)
    assert (alert["city"], alert["job"], alert["week"], alert["step"]) == ("town", "weekly_release", WEEK, "visits")
    assert alert["error"] == "the week must have visit files"


def test_an_alert_does_not_quote_an_error_that_may_quote_a_record(town, tmp_path, monkeypatch):
    (alert,) = alerts_of_failing(town, tmp_path, monkeypatch, ValueError("user 0612345678 was seen 17 times"))
    assert alert["error"] == "Withheld: see the page of the run"
    assert "0612345678" not in json.dumps(alert)


# --- followers --------------------------------------------------------------------------------------------------


def test_only_cheap_released_assets_follow_by_themselves(town, tmp_path):
    graph = build(opened(town.settings, tmp_path)).resolve_asset_graph()
    automated = {key for key in graph.get_all_asset_keys() if graph.get(key).automation_condition}
    assert automated == {dg.AssetKey(name) for name in FOLLOWERS}
    assert {graph.get(key).tags["zone"] for key in automated} == {"release"}


def test_the_page_follows_its_week_and_only_its_week(town, tmp_path):
    definitions, geography = build(opened(town.settings, tmp_path)), ("cells", "towers", "overlaps")
    with dg.DagsterInstance.ephemeral() as instance:

        def happens(*assets: str) -> None:
            for name in assets:
                weekly = name not in geography
                instance.report_runless_asset_event(dg.AssetMaterialization(name, partition=WEEK if weekly else None))

        def follow(cursor=None):
            return dg.evaluate_automation_conditions(definitions, instance, cursor=cursor)

        parents = definitions.resolve_asset_graph().get(dg.AssetKey("density_report")).parent_keys
        happens(*(parent.to_user_string() for parent in parents), "density_report")
        first = follow()
        assert first.total_requested == 0
        happens("cells")
        second = follow(first.cursor)
        assert second.total_requested == 0
        happens("density")
        third = follow(second.cursor)
        assert third.get_requested_partitions(dg.AssetKey("density_report")) == {WEEK}
        assert third.total_requested == 1


# --- test freshness --------------------------------------------------------------------------------------------------

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
