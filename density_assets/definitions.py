"""The code location: everything wired in one place."""

from pathlib import Path

import dagster as dg

from density_assets import checks
from density_assets.assets import confidential, evaluation, ledger, mechanisms, public, release
from density_assets.assets.mechanisms import release_request
from density_assets.assets.zone_rule import refuse_leaks
from density_assets.jobs import weekly_release
from density_assets.partitions import current_home, current_settings
from density_assets.privacy.noise import OpenDpNoise
from density_assets.settings import Settings
from resources.charges import Budget
from resources.console import console
from resources.engine import SqlEngine
from resources.io_manager import TableIOManager
from resources.ledger import Ledger
from resources.measurements import Measurements
from resources.stamps import stamp_values
from resources.store import Store


def graph() -> list[dg.AssetsDefinition]:
    """Every asset, after a look at how data would flow between them."""
    found = dg.load_assets_from_modules([public, confidential, mechanisms, release, ledger, evaluation])
    assets = [asset for asset in found if isinstance(asset, dg.AssetsDefinition)]
    refuse_leaks(assets)
    return assets


def build_definitions(settings: Settings, home: Path) -> dg.Definitions:
    """All assets, jobs and resources for one city."""
    store, book = Store(home, settings.city.name, stamp_values(settings)), Ledger(home)
    return dg.Definitions(
        assets=graph(),
        asset_checks=[checks.ledger_is_whole],
        jobs=[weekly_release],
        loggers={"console": console},
        resources={
            "settings": settings,
            "store": store,
            "engine": SqlEngine(store, settings.engine),
            "tables": TableIOManager(store, lambda week: release_request(settings, store, week).name),
            "ledger": book,
            "measurements": Measurements(store, book, OpenDpNoise(), Budget.of(settings)),
        },
        executor=dg.in_process_executor,
    )


defs = build_definitions(current_settings(), current_home())
