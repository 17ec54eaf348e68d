"""The weeks of a city as Dagster's partitions."""

import dagster as dg

from density_assets.city import City


def weekly_partitions(city: City) -> dg.WeeklyPartitionsDefinition:
    """Monday to Sunday, on the city's clocks; partitions come from the calendar, never from the data."""
    chosen = city.settings.city
    return dg.WeeklyPartitionsDefinition(
        start_date=str(chosen.first_week), timezone=chosen.timezone, day_offset=1, fmt="%Y-%m-%d"
    )
