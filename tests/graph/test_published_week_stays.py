"""What the UI shows of a published week after a run that would have replaced it: that it is well."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import dagster as dg
import pytest
from runs import WEEK, copied, only, opened
from town import Town, make_town

from density_assets.city import City
from density_assets.definitions import BLUEPRINTS, build
from density_assets.graph.naming import FINAL, weekly_partitions
from density_assets.privacy.zones import Zone
from density_assets.settings import load_settings
from resources.ledger.ledger import Ledger

WEEKLY = [plan for plan in BLUEPRINTS if plan.weekly and plan.group != FINAL]  # what the weekly job makes
OPEN = [plan.name for plan in WEEKLY if plan.zone.open and plan.zone is not Zone.PUBLIC]


Published = tuple[Town, Path, dg.DagsterInstance]


def instance_in(folder: Path) -> AbstractContextManager[dg.DagsterInstance]:
    folder.mkdir(exist_ok=True)
    return dg.DagsterInstance.local_temp(str(folder), {"telemetry": {"enabled": False}})


@pytest.fixture(scope="module")
def published_once(tmp_path_factory) -> tuple[Town, Path]:
    """A town and its home with one published week, beside the instance that ran it: to look at, not to change."""
    folder = tmp_path_factory.mktemp("published")
    town = make_town(folder)
    with instance_in(folder / "instance") as instance:
        assert ended_as(town, folder / "home", instance) is dg.DagsterRunStatus.SUCCESS
    return town, folder / "home"


@pytest.fixture
def published(published_once, tmp_path) -> Iterator[Published]:
    """The same, to do anything with."""
    town, home = published_once
    shutil.copytree(home.parent / "instance", tmp_path / "instance")
    with instance_in(tmp_path / "instance") as instance:
        yield *copied(town, home, tmp_path), instance


def ended_as(town: Town, home: Path, instance: dg.DagsterInstance, **options) -> dg.DagsterRunStatus:
    job = build(opened(town.settings, home)).resolve_job_def("weekly_release")
    result = job.execute_in_process(instance=instance, partition_key=WEEK, raise_on_error=False, **options)
    return instance.get_run_by_id(result.run_id).status


def marks(town: Town, home: Path, instance: dg.DagsterInstance) -> dict[str, str | None]:
    """How each open asset marks the week: the same that its page and the lineage page show."""
    weeks = weekly_partitions(opened(town.settings, home))
    status = {name: instance.get_status_by_partition(dg.AssetKey(name), [WEEK], weeks)[WEEK] for name in OPEN}
    return {name: found.value if found else None for name, found in status.items()}


def move_a_tower(town: Town) -> None:
    towers = town.folder / "towers.csv"
    towers.write_text(towers.read_text().replace("650500.0", "650400.0"))


def files(home: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (home / "town/release").glob(f"*_{WEEK}*")}


@pytest.mark.parametrize("assets", [None, ("density",)], ids=["the week", "one asset by hand"])
def test_a_run_that_would_replace_a_published_week_is_called_off_and_marks_nothing(published, assets):
    town, home, instance = published
    before, green = files(home), dict.fromkeys(OPEN, "MATERIALIZED")
    assert len(before) == 18
    assert marks(town, home, instance) == green
    move_a_tower(town)
    if assets:
        ended_as(town, home, instance, asset_selection=only("cells", "antennas", "towers"))
    chosen = {"asset_selection": only(*assets)} if assets else {}
    assert ended_as(town, home, instance, **chosen) is dg.DagsterRunStatus.CANCELED
    assert marks(town, home, instance) == green
    assert files(home) == before
    assert len(Ledger(home).rows()) == 2


def test_a_ledger_that_refuses_does_not_mark_a_published_week_as_failed(published):
    town, home, instance = published
    before = files(home)
    with sqlite3.connect(home / "ledger.sqlite") as connection:
        connection.execute("drop trigger entries_no_update")
        connection.execute("update entries set at = '2000-01-01' where row = 2")
    job = build(City(load_settings(town.settings), home)).resolve_job_def("weekly_release")
    result = job.execute_in_process(instance=instance, partition_key=WEEK, raise_on_error=False)
    assert instance.get_run_by_id(result.run_id).status is dg.DagsterRunStatus.CANCELED
    weeks = weekly_partitions(City(load_settings(town.settings), home))
    marked = {name: instance.get_status_by_partition(dg.AssetKey(name), [WEEK], weeks)[WEEK] for name in OPEN}
    assert {mark.value for mark in marked.values() if mark} == {"MATERIALIZED"}
    assert files(home) == before


def test_a_week_that_fails_before_it_is_published_is_marked_as_failed(town, tmp_path):
    town.set("[engine]", "[privacy]\nbudget_epsilon = 0.1\n[engine]")
    with instance_in(tmp_path / "instance") as instance:
        assert ended_as(town, tmp_path / "home", instance) is dg.DagsterRunStatus.FAILURE
        failed = marks(town, tmp_path / "home", instance)
    assert {name: failed[name] for name in ("noisy_series", "density")} == {
        "noisy_series": "FAILED",
        "density": "FAILED",
    }


def test_a_first_week_is_not_said_to_be_like_the_week_before(published):
    """A check that had nothing to compare with neither passed nor failed."""
    *_, instance = published
    check = dg.AssetCheckKey(dg.AssetKey("density"), "like_the_week_before")
    (record,) = instance.event_log_storage.get_asset_check_execution_history(check, limit=2)
    assert record.status.value == "PLANNED"  # which the UI shows as skipped once the run has ended well
