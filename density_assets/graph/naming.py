"""What Dagster knows the things of a city by: keys, jobs, groups, owners and weeks.

Alone in its instance a city's assets, jobs and groups have plain names. Where cities share an instance, each puts its
own name before: `paris/density`, `paris_weekly_release`. Groups read as the story on the lineage page; owners are the
teams behind zones; weeks come from the calendar.
"""

import warnings
from datetime import date, timedelta
from pathlib import Path

import dagster as dg

from density_assets.calendar import parse_week
from density_assets.city import City
from density_assets.errors import BadInput
from density_assets.privacy.zones import Zone
from density_assets.settings.environment import SHARED_INSTANCE


def key(city: City, asset: str) -> dg.AssetKey:
    """An asset of a city."""
    return dg.AssetKey([city.name, asset] if city.others else [asset])


def own(city: City, name: str) -> str:
    """A job, op, schedule, sensor or group of a city; their names may hold no hyphen."""
    return f"{identifier(city.name)}_{name}" if city.others else name


def identifier(city: str) -> str:
    """The name of a city where there may be no hyphen."""
    return city.replace("-", "_")


def everything(city: City) -> dg.AssetSelection:
    """All assets of a city."""
    return dg.AssetSelection.key_prefixes([city.name]) if city.others else dg.AssetSelection.all()


def instance_folder(city: City) -> Path:
    """Where Dagster keeps the history of a city: beside its tables, or in the home for all that share it."""
    return city.home / SHARED_INSTANCE if city.others else city.home / city.name / "dagster"


# --- zones -----------------------------------------------------------------------------------------------------------

GROUPS = {
    Zone.PUBLIC: "1_public",
    Zone.CONFIDENTIAL: "2_confidential",
    Zone.MECHANISM: "3_mechanisms",
    Zone.RELEASE: "4_release",
    Zone.EVALUATION: "5_evaluation",
}
FINAL = "4_final_estimates"  # of the release zone, and made only when somebody asks
WRITER = "tables"  # pool of runs that write tables: they queue, see dagster.yaml
OWNERS = {
    Zone.PUBLIC: "team:geography",
    Zone.CONFIDENTIAL: "team:data-protection",
    Zone.MECHANISM: "team:data-protection",
    Zone.RELEASE: "team:publication",
    Zone.EVALUATION: "team:data-protection",
}


# --- partitions ------------------------------------------------------------------------------------------------------

# Dagster calls the parameter below beta and says so on every import.
warnings.filterwarnings("ignore", category=dg.BetaWarning, message=".*allow_nonexistent_upstream_partitions.*")

# The week before; there is none before the first.
LAST_WEEK = dg.TimeWindowPartitionMapping(start_offset=-1, end_offset=-1, allow_nonexistent_upstream_partitions=True)


def weekly_partitions(city: City) -> dg.WeeklyPartitionsDefinition:
    """Monday to Sunday, on the city's clocks; partitions come from the calendar, never from the data."""
    chosen = city.settings.city
    return dg.WeeklyPartitionsDefinition(
        start_date=str(chosen.first_week),
        end_date=str(chosen.final_week + timedelta(weeks=1)) if chosen.final_week else None,
        timezone=chosen.timezone,
        day_offset=1,
        fmt="%Y-%m-%d",
    )


def week_of(city: City, named: str) -> date:
    """The week that is named; raises if it is none of the city's: before its first, or not over yet.

    Every step asks: a run that names its week by a tag alone was never asked by Dagster.
    """
    week = parse_week(named)
    if not weekly_partitions(city).has_partition_key(str(week)):
        first, final = city.settings.city.first_week, city.settings.city.final_week
        last = f"city.last_week ({final}), and be over" if final else "the last full one"
        raise BadInput(f"a week must lie between city.first_week ({first}) and {last}; got {week}")
    return week
