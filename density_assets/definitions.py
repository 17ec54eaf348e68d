"""The code location: everything wired in one place."""

from pathlib import Path

import dagster as dg

from density_assets.graph import audit, confidential, evaluation, ledger, public, release
from density_assets.graph import doors as mechanisms
from density_assets.graph import research as studies
from density_assets.graph.automation import following, sensors, weekly_schedule
from density_assets.graph.catalogue import catalogue
from density_assets.graph.checks import all_checks
from density_assets.graph.console import console
from density_assets.graph.doors import release_request
from density_assets.graph.io_manager import TableIOManager
from density_assets.graph.jobs import audit_job, purge_job, rebuild_release, weekly_release
from density_assets.graph.partitions import current_home, current_settings
from density_assets.graph.zone_rule import refuse_leaks
from density_assets.privacy.charges import Budget
from density_assets.privacy.noise import OpenDpNoise
from density_assets.records.confinement import named_files, refuse_kept
from density_assets.settings import Settings
from resources.ledger.ledger import Ledger
from resources.measurements import Measurements
from resources.sql.engine import SqlEngine
from resources.tables.stamps import stamp_values
from resources.tables.store import Store


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
