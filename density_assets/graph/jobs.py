"""Jobs: what is run together."""

from collections.abc import Iterable
from typing import Any

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

from density_assets.calendar import parse_week
from density_assets.city import City
from density_assets.errors import BadInput
from density_assets.graph.freshness import check_key, watched
from density_assets.graph.naming import everything, key, own
from density_assets.graph.zones import FINAL, GROUPS, WRITER
from density_assets.privacy.zones import Zone
from density_assets.settings.values import is_url
from resources.tables.retention import purge

WEEKLY, REBUILD, FINAL_ESTIMATE, EVALUATE, AUDIT, PURGE, PURGE_BY_FORCE = (
    "weekly_release",
    "rebuild_release",
    "final_estimate",
    "evaluate_release",
    "audit",
    "purge_week",
    "purge_week_by_force",
)
JOBS = (WEEKLY, REBUILD, FINAL_ESTIMATE, EVALUATE, AUDIT, PURGE, PURGE_BY_FORCE)
REGISTER = ("ledger", "audit_page", "release_database", "signed_register")
ERASE = "erase"  # the one step of those that erase
ON_THE_TERMINAL: dict[str, Any] = {"loggers": {"console": {}}}


def weekly_release(city: City, weeks: dg.PartitionsDefinition[str]) -> UnresolvedAssetJobDefinition:
    """One week, end to end. Of real people it is not compared with the truth, which a person must ask for."""
    apart = [FINAL, *([] if city.synthetic else [GROUPS[Zone.EVALUATION]])]
    return dg.define_asset_job(
        own(city, WEEKLY),
        selection=everything(city) - _groups(city, *apart) - _apart(city),
        partitions_def=weeks,
        config=ON_THE_TERMINAL,
        description="One week of the city, from its records to everything derived from them.",
    )


def rebuild_release(city: City, weeks: dg.PartitionsDefinition[str]) -> UnresolvedAssetJobDefinition:
    """A released week again, from what is stored."""
    return dg.define_asset_job(
        own(city, REBUILD),
        selection=_groups(city, GROUPS[Zone.PUBLIC], GROUPS[Zone.MECHANISM], GROUPS[Zone.RELEASE]) - _apart(city),
        partitions_def=weeks,
        config=ON_THE_TERMINAL,
        description="Tables and files of a released week, made again from its stored draws: no records, no charge.",
    )


def final_estimate(city: City, weeks: dg.PartitionsDefinition[str]) -> UnresolvedAssetJobDefinition:
    """A released week once more, with weeks after it."""
    return dg.define_asset_job(
        own(city, FINAL_ESTIMATE),
        selection=_groups(city, FINAL) | _register(city),
        partitions_def=weeks,
        config=ON_THE_TERMINAL,
        description="A released week, estimated again with weeks after it and published beside the first: no records, "
        "no charge.",
    )


def evaluate_release(city: City, weeks: dg.PartitionsDefinition[str]) -> UnresolvedAssetJobDefinition:
    """A released week against the truth, apart from every release."""
    return dg.define_asset_job(
        own(city, EVALUATE),
        selection=_groups(city, GROUPS[Zone.EVALUATION]),
        partitions_def=weeks,
        config=ON_THE_TERMINAL,
        description="How far a released week is from the truth. Confidential of real people; to choose settings by it "
        "voids the promise.",
    )


def audit_job(city: City) -> UnresolvedAssetJobDefinition:
    """The register again."""
    return dg.define_asset_job(
        own(city, AUDIT),
        selection=_register(city),
        config=ON_THE_TERMINAL,
        description="The ledger's table, the auditor's page and the database, from what is there: nothing is charged.",
    )


def _groups(city: City, *groups: str) -> dg.AssetSelection:
    return dg.AssetSelection.groups(*(own(city, group) for group in groups))


def _apart(city: City) -> dg.AssetSelection:
    """Checks that are of no single week."""
    return dg.AssetSelection.checks(*([check_key(city)] if watched(city) else []))


def _register(city: City) -> dg.AssetSelection:
    return dg.AssetSelection.assets(*(key(city, name) for name in REGISTER))


class Purge(dg.Config):
    """Which week to erase; `confirm` repeats it, because nothing brings it back."""

    week: str
    confirm: str = ""


def purge_job(city: City, secret: Iterable[str], *, force: bool = False) -> dg.JobDefinition:
    """The job that erases a week; it leaves a note in the history of every asset it touches.

    secret: the assets whose weeks are erased.
    force: erase also a week that is not released; a job of its own, for the terminal, which the UI does not offer.
    """

    @dg.op(name=own(city, ERASE), pool=WRITER)  # waits for weeks that are being made
    def erase(context: dg.OpExecutionContext, config: Purge) -> None:
        """Erase the confidential zone of a week."""
        week, settings = parse_week(config.week), city.settings
        if config.confirm != config.week:
            raise BadInput(f"erasing is for good: confirm must repeat the week {config.week}, got {config.confirm!r}")
        purge(city.store, week, settings.revision_of(str(week)), force=force)
        for name in secret:
            context.log_event(dg.AssetObservation(key(city, name), partition=str(week), description="erased"))
        context.log.info(f"the confidential zone of the week of {week} is erased; what is released stays")
        if settings.city.visits:
            own = settings.city.visits.replace("{week}", str(week))
            context.log.info(f"your own files are yours to erase: {own if is_url(own) else settings.path(own)}")

    name, which = (PURGE_BY_FORCE, "any week") if force else (PURGE, "a week that is released")

    @dg.job(name=own(city, name), description=f"Erase the confidential zone of {which}.")
    def purge_week() -> None:
        erase()

    return purge_week
