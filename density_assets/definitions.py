"""The code location of a city: everything that makes its releases, wired in one place."""

import dagster as dg

from density_assets.city import City
from density_assets.graph import (
    automation,
    confidential,
    doors,
    estimating,
    evaluation,
    final,
    public,
    register,
    release,
)
from density_assets.graph.assets import blueprints
from density_assets.graph.automation import following, freshness_check, sensors, watched, weekly_schedule
from density_assets.graph.catalogue import ATTACK_CHECKS, Catalogue, refuse_leaks
from density_assets.graph.checks import CHECKS
from density_assets.graph.estimating import learns
from density_assets.graph.naming import weekly_partitions
from density_assets.graph.terminal import console
from density_assets.publication.pages.svg import Node
from density_assets.schemes import refuse_without_areas

BLUEPRINTS = blueprints(public, confidential, doors, estimating, release, register, final, evaluation)


def build(city: City, *, by_force: bool = False) -> dg.Definitions:
    """All assets, checks, jobs and automation of one city.

    by_force: whether a job erases weeks that are not released; only a terminal offers that.
    """
    city.refuse_our_files()
    refuse_without_areas(city.settings)
    assets, known = graph(city)
    weeks = weekly_partitions(city)
    weekly = automation.weekly_release(city, weeks)
    secret = [blueprint.name for blueprint in BLUEPRINTS if blueprint.zone.secret]
    purges = [automation.purge_job(city, secret, force=force) for force in ([False, True] if by_force else [False])]
    finals = [automation.final_estimate(city, weeks)] if learns(city) else []
    fresh = [freshness_check(city)] if watched(city) else []
    return dg.Definitions(
        assets=following(city, assets),
        asset_checks=[*(check.build(city, known) for check in CHECKS), *fresh],
        jobs=[
            weekly,
            automation.rebuild_release(city, weeks),
            automation.evaluate_release(city, weeks),
            automation.audit_job(city),
            *finals,
            *purges,
        ],
        schedules=[weekly_schedule(city, weekly)],
        sensors=sensors(city, weekly),
        loggers={"console": console},
        executor=dg.in_process_executor,
    )


def graph(city: City) -> tuple[list[dg.AssetsDefinition], Catalogue]:
    """Every asset, after a look at how data would flow between them, and what there is as plain values."""
    known = catalogue(city)
    assets = [blueprint.build(city, known) for blueprint in BLUEPRINTS if blueprint.where(city)]
    refuse_leaks(assets)
    return assets, known


def catalogue(city: City) -> Catalogue:
    """What the graph of a city holds."""
    shelves = {blueprint.name: blueprint.shelf for blueprint in BLUEPRINTS}
    nodes = [Node(plan.name, plan.zone, tuple(sorted(plan.reads(city)))) for plan in BLUEPRINTS if plan.where(city)]
    return Catalogue(shelves, nodes, [*(check.known(shelves) for check in CHECKS), *ATTACK_CHECKS])


@dg.definitions
def defs() -> dg.Definitions:
    """What `workspace.yaml` points at: the city the environment names, or all that share its instance."""
    return dg.Definitions.merge(*map(build, City.all_here()))
