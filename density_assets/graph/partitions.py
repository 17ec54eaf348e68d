"""The weeks of the city the environment names.

A code location serves one city: `DENSITY_SETTINGS` points to its settings file (none: the embedded city) and
`DENSITY_HOME` to the folder under which everything produced is kept (default `data`).
"""

import os
from pathlib import Path

import dagster as dg

from density_assets.settings import CitySettings, Settings, load_settings


def current_settings() -> Settings:
    """The settings the environment names."""
    file = os.environ.get("DENSITY_SETTINGS")
    return load_settings(Path(file) if file else None)


def current_home() -> Path:
    """The folder the environment names."""
    return Path(os.environ.get("DENSITY_HOME") or "data").absolute()


def weekly_partitions(city: CitySettings) -> dg.WeeklyPartitionsDefinition:
    """Monday to Sunday, on the city's clocks; partitions come from the calendar, never from the data."""
    return dg.WeeklyPartitionsDefinition(
        start_date=str(city.first_week), timezone=city.timezone, day_offset=1, fmt="%Y-%m-%d"
    )


WEEKS = weekly_partitions(current_settings().city)
