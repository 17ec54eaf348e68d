"""Whether the newest week is out: a check of what is published, by the calendar and by names of weeks alone.

Dagster's freshness policies ask when an asset was made last, and an old week that is made again would pass for a new
one; so a week is asked for by its name. A sensor says so whenever the answer changes, without a run. The check stands
apart from the weekly job: a week of last year is not bad because this one is late.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import dagster as dg

from density_assets.city import City
from density_assets.graph.naming import key, own
from density_assets.graph.partitions import weekly_partitions

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
