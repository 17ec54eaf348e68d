"""The code location: everything wired in one place."""

from pathlib import Path

import dagster as dg

from density_assets.assets import audit, confidential, evaluation, ledger, mechanisms, public, release, studies
from density_assets.assets.catalogue import catalogue
from density_assets.assets.mechanisms import release_request
from density_assets.assets.zone_rule import refuse_leaks
from density_assets.automation import following, sensors, weekly_schedule
from density_assets.checks import all_checks
from density_assets.cities.confinement import named_files, refuse_kept
from density_assets.jobs import audit_job, purge_job, rebuild_release, weekly_release
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
    found = dg.load_assets_from_modules([public, confidential, mechanisms, release, ledger, audit, evaluation, studies])
    assets = [asset for asset in found if isinstance(asset, dg.AssetsDefinition)]
    refuse_leaks(assets)
    return assets


def build_definitions(settings: Settings, home: Path) -> dg.Definitions:
    """All assets, jobs and resources for one city."""
    refuse_kept(named_files(settings), home)
    assets = graph()
    asset_checks = all_checks(assets)
    store, book = Store(home, settings.city.name, stamp_values(settings)), Ledger(home)
    return dg.Definitions(
        assets=following(assets),
        asset_checks=asset_checks,
        jobs=[weekly_release, rebuild_release, audit_job, purge_job(assets)],
        schedules=[weekly_schedule(settings)],
        sensors=sensors(settings, home),
        loggers={"console": console},
        resources={
            "settings": settings,
            "store": store,
            "engine": SqlEngine(store, settings.engine),
            "tables": TableIOManager(store, lambda week: release_request(settings, store, week).name),
            "ledger": book,
            "measurements": Measurements(store, book, OpenDpNoise(), Budget.of(settings)),
            "catalogue": catalogue(assets, asset_checks),
        },
        executor=dg.in_process_executor,
    )


defs = build_definitions(current_settings(), current_home())
