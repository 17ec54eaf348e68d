"""Runs of the real graph on an instance that is forgotten."""

from datetime import date
from pathlib import Path

import dagster as dg

from density_assets.definitions import build_definitions
from density_assets.settings import load_settings

WEEK = "2007-09-10"
MONDAY = date(2007, 9, 10)


def materialise(settings_file: Path, home: Path, week: str = WEEK, **options) -> dg.ExecuteInProcessResult:
    defs = build_definitions(load_settings(settings_file), home)
    with dg.DagsterInstance.ephemeral() as instance:
        job = defs.resolve_job_def("weekly_release")
        return job.execute_in_process(instance=instance, partition_key=week, **options)


def shown(result: dg.ExecuteInProcessResult, asset: str) -> dg.AssetMaterialization:
    (event,) = result.asset_materializations_for_node(asset)
    return event
