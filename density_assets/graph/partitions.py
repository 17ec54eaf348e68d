"""The weeks of a city as Dagster's partitions."""

import warnings
from datetime import timedelta

import dagster as dg

from density_assets.city import City

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
