"""Jobs: what is run together."""

from collections.abc import Sequence

import dagster as dg

from density_assets.calendar import parse_week
from density_assets.errors import BadInput
from density_assets.graph.partitions import WEEKS
from density_assets.graph.zones import GROUPS, STUDY_GROUPS, WRITER, Zone
from resources.tables.retention import purge

weekly_release = dg.define_asset_job(
    "weekly_release",
    selection=dg.AssetSelection.all() - dg.AssetSelection.groups(*STUDY_GROUPS.values()),
    partitions_def=WEEKS,
    config={"loggers": {"console": {}}},
    description="One week of the city, from its records to everything derived from them.",
)

rebuild_release = dg.define_asset_job(
    "rebuild_release",
    selection=dg.AssetSelection.groups(GROUPS[Zone.PUBLIC], GROUPS[Zone.MECHANISM], GROUPS[Zone.RELEASE]),
    partitions_def=WEEKS,
    config={"loggers": {"console": {}}},
    description="Tables and files of a released week, made again from its stored draws: no records, no charge.",
)

audit_job = dg.define_asset_job(
    "audit",
    selection=dg.AssetSelection.assets("ledger", "audit_page"),
    config={"loggers": {"console": {}}},
    description="The ledger's table and the auditor's page, from what is there: nothing is drawn or charged.",
)


class Purge(dg.Config):
    """Which week to erase; `confirm` repeats it, because nothing brings it back."""

    week: str
    confirm: str = ""


def purge_job(assets: Sequence[dg.AssetsDefinition], *, force: bool = False) -> dg.JobDefinition:
    """The job that erases a week; it leaves a note in the history of every asset it touches.

    force: erase also a week that is not released; a job of its own, for the terminal, which the UI does not offer.
    """
    erased = [
        spec.key
        for asset in assets
        for spec in asset.specs
        if spec.metadata.get("zone") in ("confidential", "evaluation") and spec.partitions_def
    ]

    @dg.op(pool=WRITER, required_resource_keys={"settings", "store"})  # waits for weeks that are being made
    def erase(context: dg.OpExecutionContext, config: Purge) -> None:
        """Erase the confidential zone of a week."""
        week, settings = parse_week(config.week), context.resources.settings
        if config.confirm != config.week:
            raise BadInput(f"erasing is for good: confirm must repeat the week {config.week}, got {config.confirm!r}")
        purge(
            context.resources.store,
            week,
            settings.revision_of(str(week)),
            force=force,
        )
        for key in erased:
            context.log_event(dg.AssetObservation(key, partition=str(week), description="erased"))
        context.log.info(f"the confidential zone of the week of {week} is erased; what is released stays")
        if settings.city.visits:
            own = settings.path(settings.city.visits.replace("{week}", str(week)))
            context.log.info(f"your own files are yours to erase: {own}")

    name, which = ("purge_week_by_force", "any week") if force else ("purge_week", "a week that is released")

    @dg.job(name=name, description=f"Erase the confidential zone of {which}.")
    def purge_week() -> None:
        erase()

    return purge_week
