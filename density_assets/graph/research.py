"""Studies and attack tests as assets: figures and summary in the UI, files where `make study` writes them.

They belong to the evaluation zone, because they compare with the truth; nothing is downstream of them.
"""

from datetime import date
from typing import Any

import dagster as dg

from density_assets.city import City
from density_assets.graph.assets import Context
from density_assets.graph.naming import key, own
from density_assets.graph.partitions import weekly_partitions
from density_assets.graph.shown import inline_picture
from density_assets.graph.zones import OWNERS, STUDY_GROUPS
from density_assets.privacy.zones import Zone
from density_assets.research.study import Source, Study, conduct


def study_asset(study: Study[Any], city: City) -> dg.AssetsDefinition:
    """One study as an asset; weekly ones have a partition per week."""

    def run(context: Context) -> dg.MaterializeResult[None]:
        week = date.fromisoformat(context.partition_key) if study.weekly else city.settings.city.first_week
        outcome = conduct(study, Source(city.settings, city.store, week), study.repetitions, context.log.info)
        pictures = {name: inline_picture(picture) for name, picture in outcome.pictures.items()}
        summary, folder = dg.MetadataValue.md(outcome.summary), str(outcome.folder.relative_to(city.store.folder))
        return dg.MaterializeResult(metadata={"summary": summary, "folder": folder, **pictures})

    return dg.asset(
        key=key(city, study.asset_name),
        description=f"{study.title}. {study.repetitions} seeded repetitions; finished ones are kept.",
        group_name=own(city, STUDY_GROUPS[study.kind]),
        owners=[OWNERS[Zone.EVALUATION]],
        tags={"zone": Zone.EVALUATION.value},
        kinds={"python", "matplotlib"},
        code_version=str(study.version),
        partitions_def=weekly_partitions(city) if study.weekly else None,
        deps=[key(city, table) for table in study.tables],
    )(run)
