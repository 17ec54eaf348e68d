"""Runs of the real graph on an instance that is forgotten, and of commands in processes of their own."""

import os
import shutil
import subprocess
from datetime import date
from pathlib import Path

import dagster as dg
import warm
from ledgers import open_before, open_ledger
from town import Town

from density_assets.city import City
from density_assets.definitions import build
from density_assets.settings import load_settings

WEEK = "2007-09-10"
MONDAY = date(2007, 9, 10)


def opened(settings_file: Path, home: Path, *, sealed: bool = True) -> City:
    """The city that a settings file describes, with a ledger that somebody has opened if its people are real."""
    city = City(load_settings(settings_file), home, sealed=sealed)
    if not city.synthetic:
        open_ledger(city)
    return city


def density(home: Path, *words: str, opening: bool = True) -> subprocess.CompletedProcess[str]:
    """A command as a person types it, in a process of its own.

    opening: whether the ledger is opened before a command that writes to it.
    """
    if opening:
        open_before(home, *words)
    environment = {**os.environ, "DENSITY_HOME": str(home)}
    environment.pop("DENSITY_SETTINGS", None)
    return warm.density(*words, environment=environment)


def copied(town: Town, home: Path, folder: Path) -> tuple[Town, Path]:
    """A town and its home once more, in a folder that is there, for a test that changes them."""
    shutil.copytree(home, folder / "home")
    there = folder / town.folder.name
    shutil.copytree(town.folder, there)
    copy = Town(there, there / town.settings.name)
    opened(copy.settings, folder / "home")  # says that the ledger is elsewhere now
    return copy, folder / "home"


def materialise(
    settings_file: Path, home: Path, week: str = WEEK, *, sealed: bool = True, **options
) -> dg.ExecuteInProcessResult:
    """Run a week.

    sealed: whether released steps run in a process of their own, which nothing that is changed in this one reaches.
    """
    defs = build(opened(settings_file, home, sealed=sealed))
    with dg.DagsterInstance.ephemeral() as instance:
        job = defs.resolve_job_def("weekly_release")
        return job.execute_in_process(instance=instance, partition_key=week, **options)


def only(*assets: str) -> list[dg.AssetKey]:
    """A selection of a few assets, as made by clicking in the UI."""
    return [dg.AssetKey(asset) for asset in assets]


def failures(result: dg.ExecuteInProcessResult) -> list[str]:
    """What each failed step said."""
    assert not result.success
    errors = [event.step_failure_data.error for event in result.get_step_failure_events()]
    return [(error.cause or error).message for error in errors]


def verdicts(result: dg.ExecuteInProcessResult) -> dict[str, dg.AssetCheckEvaluation]:
    """What each check said, by its name."""
    return {found.check_name: found for found in result.get_asset_check_evaluations()}


def ran(result: dg.ExecuteInProcessResult) -> set[str]:
    """The assets that were made."""
    made = (event.asset_key for event in result.all_events if event.is_step_materialization)
    return {key.to_user_string() for key in made}


def shown(result: dg.ExecuteInProcessResult, asset: str) -> dg.AssetMaterialization:
    (event,) = result.asset_materializations_for_node(asset)
    return event
