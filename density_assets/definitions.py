"""The code location: everything wired in one place."""

from pathlib import Path

import dagster as dg

from density_assets.assets import confidential, public
from density_assets.jobs import weekly_release
from density_assets.partitions import current_home, current_settings
from density_assets.settings import Settings
from resources.console import console
from resources.engine import SqlEngine
from resources.io_manager import TableIOManager
from resources.store import Store


def build_definitions(settings: Settings, home: Path) -> dg.Definitions:
    """All assets, jobs and resources for one city."""
    store = Store(home, settings.city.name)
    return dg.Definitions(
        assets=dg.load_assets_from_modules([public, confidential]),
        jobs=[weekly_release],
        loggers={"console": console},
        resources={
            "settings": settings,
            "store": store,
            "engine": SqlEngine(store, settings.engine),
            "tables": TableIOManager(store),
        },
        executor=dg.in_process_executor,
    )


defs = build_definitions(current_settings(), current_home())
