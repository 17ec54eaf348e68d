"""Jobs, what starts them, and whether the newest week is out.

Weeks start on a schedule or when their files are complete; alerts and pages follow. Nothing here can spend twice: a
door that is materialised again returns its stored draw. Still, only assets that read no records and open no door follow
others by themselves; a week is started by a person, the schedule or the sensor.

Whether the newest week is out is a check of what is published, by the calendar and by names of weeks alone. Dagster's
freshness policies ask when an asset was made last, and an old week that is made again would pass for a new one; so a
week is asked for by its name. The check stands apart from the weekly job: a week of last year is not bad because this
one is late.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

from density_assets.calendar import parse_week
from density_assets.city import City
from density_assets.errors import BadInput
from density_assets.graph.naming import FINAL, GROUPS, WRITER, everything, instance_folder, key, own, weekly_partitions
from density_assets.privacy.zones import Zone
from density_assets.records.files import how_to_complete, is_complete, says_which_week
from density_assets.release.estimate import STATES
from density_assets.schemes.scheme import SERIES, TOTALS
from density_assets.settings import Settings
from density_assets.settings.values import is_url
from resources.alerts import Alert, deliver, quotable
from resources.tables.retention import purge

CHECK = "newest_week_is_out"
PATIENCE = timedelta(hours=36)  # after the week has ended: until Tuesday noon
ABOUT = "The newest week must be signed by noon of the Tuesday after it; what records say has no part in this."


@dataclass(frozen=True)
class Newest:
    """The newest week that is due; whether it is out."""

    week: str
    out: bool

    @property
    def words(self) -> str:
        """What is shown."""
        return f"the week of {self.week} is out" if self.out else f"the week of {self.week} is due and not released"


def watched(city: City) -> bool:
    """Whether weeks are expected of a city: of people who exist."""
    return not city.synthetic


def newest(city: City, instance: dg.DagsterInstance, now: datetime) -> Newest | None:
    """The newest week that is due at a moment; none before the first."""
    due = weekly_partitions(city).get_partition_keys(current_time=now - PATIENCE)
    return Newest(due[-1], due[-1] in instance.get_materialized_partitions(_asset(city))) if due else None


def check_key(city: City) -> dg.AssetCheckKey:
    """What Dagster knows the check by."""
    return dg.AssetCheckKey(_asset(city), CHECK)


def freshness_check(city: City) -> dg.AssetChecksDefinition:
    """The check, for those who run it by hand."""

    @dg.asset_check(asset=_asset(city), name=CHECK, description=ABOUT)
    def newest_week_is_out(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
        said = newest(city, context.instance, datetime.now(UTC))
        late = said is not None and not said.out
        words = said.words if said else "no week is due yet"
        return dg.AssetCheckResult(passed=not late, severity=dg.AssetCheckSeverity.WARN, description=words)

    return newest_week_is_out


def freshness_sensor(city: City) -> dg.SensorDefinition:
    """Says how the check stands, whenever that changes."""

    @dg.sensor(
        name=own(city, "newest_week"),
        minimum_interval_seconds=3600,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Says under `signed_release` whether the newest week is out. Starts nothing, opens no file.",
    )
    def newest_week(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        said = newest(city, context.instance, datetime.now(UTC))
        if said is None or said.words == context.cursor:
            return dg.SkipReason(said.words if said else "no week is due yet")
        answer = dg.AssetCheckEvaluation(
            asset_key=_asset(city),
            check_name=CHECK,
            passed=said.out,
            metadata={},
            severity=dg.AssetCheckSeverity.WARN,
            description=said.words,
        )
        return dg.SensorResult(asset_events=[answer], cursor=said.words)

    return newest_week


def _asset(city: City) -> dg.AssetKey:
    return key(city, "signed_release")


# --- jobs ------------------------------------------------------------------------------------------------------------

WEEKLY, REBUILD, FINAL_ESTIMATE, EVALUATE, AUDIT, PURGE, PURGE_BY_FORCE = (
    "weekly_release",
    "rebuild_release",
    "final_estimate",
    "evaluate_release",
    "audit",
    "purge_week",
    "purge_week_by_force",
)
JOBS = (WEEKLY, REBUILD, FINAL_ESTIMATE, EVALUATE, AUDIT, PURGE, PURGE_BY_FORCE)
REGISTER = ("ledger", "audit_page", "release_database", "signed_register")
ERASE = "erase"  # the one step of those that erase
ON_THE_TERMINAL: dict[str, Any] = {"loggers": {"console": {}}}


def weekly_release(city: City, weeks: dg.PartitionsDefinition[str]) -> UnresolvedAssetJobDefinition:
    """One week, end to end. Of real people it is not compared with the truth, which a person must ask for."""
    apart = [FINAL, *([] if city.synthetic else [GROUPS[Zone.EVALUATION]])]
    return dg.define_asset_job(
        own(city, WEEKLY),
        selection=everything(city) - _groups(city, *apart) - _apart(city),
        partitions_def=weeks,
        config=ON_THE_TERMINAL,
        description="One week of the city, from its records to everything derived from them.",
    )


def rebuild_release(city: City, weeks: dg.PartitionsDefinition[str]) -> UnresolvedAssetJobDefinition:
    """A released week again, from what is stored."""
    return dg.define_asset_job(
        own(city, REBUILD),
        selection=_groups(city, GROUPS[Zone.PUBLIC], GROUPS[Zone.MECHANISM], GROUPS[Zone.RELEASE]) - _apart(city),
        partitions_def=weeks,
        config=ON_THE_TERMINAL,
        description="Tables and files of a released week, made again from its stored draws: no records, no charge.",
    )


def final_estimate(city: City, weeks: dg.PartitionsDefinition[str]) -> UnresolvedAssetJobDefinition:
    """A released week once more, with weeks after it."""
    return dg.define_asset_job(
        own(city, FINAL_ESTIMATE),
        selection=_groups(city, FINAL) | _register(city),
        partitions_def=weeks,
        config=ON_THE_TERMINAL,
        description="A released week, estimated again with weeks after it and published beside the first: no records, "
        "no charge.",
    )


def evaluate_release(city: City, weeks: dg.PartitionsDefinition[str]) -> UnresolvedAssetJobDefinition:
    """A released week against the truth, apart from every release."""
    return dg.define_asset_job(
        own(city, EVALUATE),
        selection=_groups(city, GROUPS[Zone.EVALUATION]),
        partitions_def=weeks,
        config=ON_THE_TERMINAL,
        description="How far a released week is from the truth. Confidential of real people; to choose settings by it "
        "voids the promise.",
    )


def audit_job(city: City) -> UnresolvedAssetJobDefinition:
    """The register again."""
    return dg.define_asset_job(
        own(city, AUDIT),
        selection=_register(city),
        config=ON_THE_TERMINAL,
        description="The ledger's table, the auditor's page and the database, from what is there: nothing is charged.",
    )


def _groups(city: City, *groups: str) -> dg.AssetSelection:
    return dg.AssetSelection.groups(*(own(city, group) for group in groups))


def _apart(city: City) -> dg.AssetSelection:
    """Checks that are of no single week."""
    return dg.AssetSelection.checks(*([check_key(city)] if watched(city) else []))


def _register(city: City) -> dg.AssetSelection:
    return dg.AssetSelection.assets(*(key(city, name) for name in REGISTER))


class Purge(dg.Config):
    """Which week to erase; `confirm` repeats it, because nothing brings it back."""

    week: str
    confirm: str = ""


def purge_job(city: City, secret: Iterable[str], *, force: bool = False) -> dg.JobDefinition:
    """The job that erases a week; it leaves a note in the history of every asset it touches.

    secret: the assets whose weeks are erased.
    force: erase also a week that is not released; a job of its own, for the terminal, which the UI does not offer.
    """

    @dg.op(name=own(city, ERASE), pool=WRITER)  # waits for weeks that are being made
    def erase(context: dg.OpExecutionContext, config: Purge) -> None:
        """Erase the confidential zone of a week."""
        week, settings = parse_week(config.week), city.settings
        if config.confirm != config.week:
            raise BadInput(f"erasing is for good: confirm must repeat the week {config.week}, got {config.confirm!r}")
        purge(city.store, week, settings.revision_of(str(week)), force=force)
        for name in secret:
            context.log_event(dg.AssetObservation(key(city, name), partition=str(week), description="erased"))
        context.log.info(f"the confidential zone of the week of {week} is erased; what is released stays")
        if settings.city.visits:
            own = settings.city.visits.replace("{week}", str(week))
            context.log.info(f"your own files are yours to erase: {own if is_url(own) else settings.path(own)}")

    name, which = (PURGE_BY_FORCE, "any week") if force else (PURGE, "a week that is released")

    @dg.job(name=own(city, name), description=f"Erase the confidential zone of {which}.")
    def purge_week() -> None:
        erase()

    return purge_week


# --- automation ------------------------------------------------------------------------------------------------------

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
    earlier = dg.AssetSelection.assets(
        *(key(city, name) for name in (STATES, TOTALS, SERIES))
    )  # weeks before it need not be there
    follow = (
        dg.AutomationCondition.any_deps_updated().ignore(public | earlier).since_last_handled()
        & ~dg.AutomationCondition.any_deps_missing().ignore(earlier)
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
