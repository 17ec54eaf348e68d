"""The weeks of a city as Dagster's partitions."""

import warnings
from datetime import date, timedelta

import dagster as dg

from density_assets.calendar import parse_week
from density_assets.city import City
from density_assets.errors import BadInput

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
