"""What starts by itself: weeks on a schedule or when their files are complete, alerts, and pages that follow a release.

Nothing here can spend twice: a door that is materialised again returns its stored draw. Still, only assets that read
no records and open no door follow others by themselves; a week is started by a person, the schedule or the sensor.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

from density_assets.city import City
from density_assets.graph.freshness import freshness_sensor
from density_assets.graph.jobs import JOBS
from density_assets.graph.naming import instance_folder, key, own
from density_assets.graph.partitions import weekly_partitions
from density_assets.graph.zones import GROUPS
from density_assets.privacy.zones import Zone
from density_assets.records.found_files import how_to_complete, is_complete, says_which_week
from density_assets.settings import Settings
from resources.alerts import Alert, deliver, quotable

HOUR_OF_RELEASE = 6  # Monday, on the city's clocks: later than any hour that a clock change skips or repeats
FOLLOWERS = ("density_report", "ledger")  # cheap, released, made of released tables only


def weekly_schedule(city: City, job: UnresolvedAssetJobDefinition) -> dg.ScheduleDefinition:
    """The schedule of a city; a week that would be frozen half delivered is not started."""
    settings, weeks = city.settings, weekly_partitions(city)

    @dg.schedule(
        name=own(city, "every_monday"),
        job=job,
        cron_schedule=f"0 {HOUR_OF_RELEASE} * * 1",
        execution_timezone=settings.city.timezone,
        description="Releases the week that ended last night, on Mondays at 6 on the city's clocks, if it is complete.",
    )
    def every_monday(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        moment, last = context.scheduled_execution_time, settings.city.final_week
        ended = weeks.get_partition_keys(current_time=moment)
        if not ended:
            return dg.SkipReason("the first week has not ended")
        if last and moment.astimezone(settings.city.zone).date() - timedelta(weeks=1) > last:
            return dg.SkipReason(f"there are no weeks after that of {last}: city.last_week says so")
        if vague := _vague(settings):
            return vague
        if not _delivered(settings, ended[-1]):
            return dg.SkipReason(
                f"the week of {ended[-1]} must be known to be complete, what is drawn from a part of it stays drawn: "
                f"{how_to_complete(settings, date.fromisoformat(ended[-1]))}. Turn on complete_weeks, which waits for "
                "that, or start the week by hand"
            )
        return dg.RunRequest(run_key=ended[-1], partition_key=ended[-1])

    return every_monday


def sensors(city: City, job: UnresolvedAssetJobDefinition) -> list[dg.SensorDefinition]:
    """Those that make sense for a city: real records become complete, simulated ones always are."""
    useful = []
    if city.settings.city.visits is not None:
        useful += [_complete_weeks(city, job), freshness_sensor(city)]
    if city.settings.alerts.wanted:
        useful.append(_failure_alerts(city, instance_folder(city) / "undelivered_alerts.jsonl"))
    return useful


def following(city: City, assets: list[dg.AssetsDefinition]) -> list[dg.AssetsDefinition]:
    """The same assets; the followers are materialised when what they read was, outside the run that did it."""
    public = dg.AssetSelection.groups(own(city, GROUPS[Zone.PUBLIC]))  # made again by every run, and equal
    follow = (
        dg.AutomationCondition.any_deps_updated().ignore(public).since_last_handled()
        & ~dg.AutomationCondition.any_deps_missing()
        & ~dg.AutomationCondition.any_deps_in_progress()
        & ~dg.AutomationCondition.in_progress()
    )
    followers = {key(city, name) for name in FOLLOWERS}
    return [
        asset.map_asset_specs(
            lambda spec: spec.replace_attributes(automation_condition=follow) if spec.key in followers else spec
        )
        for asset in assets
    ]


def _complete_weeks(city: City, job: UnresolvedAssetJobDefinition) -> dg.SensorDefinition:
    settings, weeks = city.settings, weekly_partitions(city)

    @dg.sensor(
        name=own(city, "complete_weeks"),
        job=job,
        minimum_interval_seconds=300,
        description="Starts a week once `_SUCCESS` or the like says it is complete: once, oldest first, files unread.",
    )
    def complete_weeks(context: dg.SensorEvaluationContext) -> Iterator[dg.RunRequest | dg.SkipReason]:
        if vague := _vague(settings):
            yield vague
            return
        released = context.instance.get_materialized_partitions(key(city, "density"))
        waiting = [week for week in weeks.get_partition_keys() if week not in released]
        complete = [week for week in waiting if _delivered(settings, week)]
        for week in complete:
            # Dagster starts a key once. A revision is declared and started by a person.
            yield dg.RunRequest(run_key=week, partition_key=week)
        if not complete:
            yield dg.SkipReason("no further week is complete")

    return complete_weeks


def _vague(settings: Settings) -> dg.SkipReason | None:
    """Why nothing starts by itself where one file speaks of all weeks: it would call those to come complete, too."""
    if settings.city.synthetic or says_which_week(settings):
        return None
    setting = "city.visits_complete" if "/" in settings.city.visits_complete else "city.visits"
    return dg.SkipReason(
        f"{setting} must hold {{week}}, or all of {{year}}, {{month}} and {{day}}: without them "
        f"{settings.city.visits_complete} does not say which week is complete"
    )


def _delivered(settings: Settings, week: str) -> bool:
    """Whether all records of a week are there; simulated ones always are."""
    return settings.city.synthetic or is_complete(settings, date.fromisoformat(week))


def _failure_alerts(city: City, undelivered: Path) -> dg.SensorDefinition:
    settings = city.settings

    @dg.run_failure_sensor(
        name=own(city, "failure_alerts"),
        default_status=dg.DefaultSensorStatus.RUNNING,
        monitor_all_code_locations=True,
        description="Reports a failed run where `[alerts]` says: run, job, week, step and an error without values.",
    )
    def failure_alerts(context: dg.RunFailureSensorContext) -> None:
        run = context.dagster_run
        for step, error in failures(context):
            if not _concerns(city, run, step):
                continue
            alert = Alert(
                at=datetime.now(UTC).isoformat(timespec="seconds"),
                city=settings.city.name,
                job=run.job_name,
                week=run.tags.get("dagster/partition"),
                run=run.run_id,
                step=step,
                error=error,
            )
            for problem in deliver(alert, settings, undelivered):
                context.log.warning(problem)

    return failure_alerts


def _concerns(city: City, run: dg.DagsterRun, step: str | None) -> bool:
    """Whether a step of a run is the city's: whoever is told of one city's may not be meant to know of another's.

    step: none if the run died, which is told to all whose assets it was to make.
    """
    if not city.others or run.job_name in {own(city, job) for job in JOBS}:
        return True
    chosen = [asset.to_python_identifier() for asset in run.asset_selection or () if asset.path[0] == city.name]
    return any(step is None or step.startswith(name) for name in chosen)


def failures(context: dg.RunFailureSensorContext) -> list[tuple[str | None, str]]:
    """Each failed step and what may be said of its error; of a run that died, that it did."""
    failed_steps: list[tuple[str | None, str]] = []
    for event in context.get_step_failure_events():
        error = event.step_failure_data.error
        cause = error.cause if error and error.cause else error
        text = quotable(cause.cls_name, cause.message) if cause else "failed: see the page of the run"
        failed_steps.append((event.step_key, text))
    return failed_steps or [(None, "the run ended before its steps did: see the page of the run, then start it again")]
