"""Two cities in one Dagster instance: keys apart, one ledger, one budget, and walls around the records of both."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import dagster as dg
import pytest
from ledgers import ACT
from runs import MONDAY, WEEK, density
from serving import answer_when, serving
from town import Town, make_town

from density_assets.city import City
from density_assets.definitions import defs
from density_assets.errors import BadInput
from density_assets.graph.automation import failures, sensors
from density_assets.graph.worker import hidden_from_releases
from density_assets.privacy.charges import BudgetRefused, weekly_costs
from resources.ledger.ledger import Ledger

NAMES = ("town", "old-village")
FIRST, NEXT = WEEK, date(2007, 9, 17)
BUDGET = "[privacy]\nepsilon = 0.3\nbudget_epsilon = 0.48\n"  # two weeks together cost 0.43, three 0.53


@dataclass(frozen=True)
class Place:
    """Two towns and the home they share."""

    towns: tuple[Town, Town]
    home: Path


def two_towns(folder: Path) -> tuple[Town, Town]:
    """Towns alike but for their names."""
    towns = []
    for name in NAMES:
        (folder / name).mkdir()
        town = make_town(folder / name)
        town.set('name = "town"', f'name = "{name}"')
        town.settings.write_text(f"{town.settings.read_text()}\n{BUDGET}")
        towns.append(town)
    return towns[0], towns[1]


def listed(*towns: Town) -> str:
    return os.pathsep.join(str(town.settings) for town in towns)


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Iterator[Place]:
    """One week of each is released, by commands, and the environment names both."""
    folder = tmp_path_factory.mktemp("several")
    towns, home = two_towns(folder), folder / "home"
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("DENSITY_CITIES", listed(*towns))
        environment.setenv("DENSITY_HOME", str(home))
        environment.delenv("DENSITY_SETTINGS", raising=False)
        for town in towns:
            done = density(home, "release", "--settings", str(town.settings), "--week", FIRST)
            assert done.returncode == 0, done.stderr[-3000:]
        yield Place(towns, home)


def key(city: str, asset: str) -> dg.AssetKey:
    return dg.AssetKey([city, asset])


def test_both_histories_lie_in_one_instance_under_keys_of_their_own(place):
    with dg.DagsterInstance.from_config(str(place.home / "_dagster")) as instance:
        for city in NAMES:
            assert instance.get_materialized_partitions(key(city, "density")) == {FIRST}
        made = set(instance.all_asset_keys())
        assert {found.path[0] for found in made} == set(NAMES)
        assert {run.job_name for run in instance.get_runs()} == {"town_weekly_release", "old_village_weekly_release"}
    assert not (place.home / "town/dagster").exists()


def test_no_edge_and_no_job_leads_from_one_city_to_the_other(place):
    graph = defs().resolve_asset_graph()
    assert {asset.path[0] for asset in graph.get_all_asset_keys()} == set(NAMES)
    for asset in graph.get_all_asset_keys():
        assert {parent.path[0] for parent in graph.get(asset).parent_keys} <= {asset.path[0]}
    for city, job in zip(NAMES, ("town_weekly_release", "old_village_weekly_release"), strict=True):
        layer = defs().resolve_job_def(job).asset_layer
        assert {asset.path[0] for asset in layer.executable_asset_keys} == {city}
    per_city = [{name.path[1] for name in graph.get_all_asset_keys() if name.path[0] == city} for city in NAMES]
    assert per_city[0] == per_city[1]


def test_their_people_have_one_budget(place):
    rows = Ledger(place.home).rows()
    assert {(row.charge.population, row.charge.city) for row in rows} == {("subscribers", name) for name in NAMES}
    for city in City.all_here():  # each has spent one week itself, and two would fit
        with pytest.raises(BudgetRefused, match=r"for subscribers may cost epsilon 0\.48 "):
            city.refuse_week(NEXT, ACT)
    alone = [row for row in rows if row.charge.city == "town"]
    twice = weekly_costs(alone, "subscribers")[MONDAY] + weekly_costs(alone, "subscribers")[MONDAY]
    assert twice.epsilon(1e-7) < 0.48


def test_what_may_be_handed_out_cannot_open_the_records_of_either(place):
    for city in City.all_here():
        hidden = set(hidden_from_releases(city))
        for town, name in zip(place.towns, NAMES, strict=True):
            assert {town.folder / "visits", town.settings, place.home / name / "confidential"} <= hidden


def test_one_city_is_told_of_its_own_failures_only(place):
    for town in place.towns:
        town.set("[engine]", '[alerts]\nfile = "alerts.jsonl"\n\n[engine]')
    try:
        town, _ = City.all_here()
        (alerts,) = [sensor for sensor in sensors(town, None) if sensor.name == "town_failure_alerts"]
        with dg.DagsterInstance.ephemeral() as instance:

            @dg.job(name="old_village_weekly_release")
            def theirs() -> None: ...

            @dg.job(name="town_weekly_release")
            def ours() -> None: ...

            for job in (theirs, ours):
                run = instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED)
                event = instance.report_run_failed(run)
                context = dg.build_run_status_sensor_context(
                    sensor_name=alerts.name, dagster_event=event, dagster_instance=instance, dagster_run=run
                )
                assert failures(context.for_run_failure())
                alerts(context.for_run_failure())
        (alert,) = (place.towns[0].folder / "alerts.jsonl").read_text().splitlines()
        assert '"job": "town_weekly_release"' in alert
    finally:
        for town in place.towns:
            town.set('[alerts]\nfile = "alerts.jsonl"\n\n', "")


def test_a_command_must_say_which_city_it_is_about(place):
    asked = density(place.home, "budget")
    assert asked.returncode == 2
    assert "one of the cities that DENSITY_CITIES lists must be meant" in asked.stderr


def test_one_server_shows_both(place):
    query = "{ assetNodes { assetKey { path } groupName } }"
    with serving(place.towns[0].settings, place.home) as url:
        nodes = answer_when(url, query, lambda said: bool(said["assetNodes"]))["assetNodes"]
    groups = {(node["assetKey"]["path"][0], node["groupName"]) for node in nodes}
    assert {("town", "town_1_public"), ("old-village", "old_village_4_release")} <= groups


# --- what cannot be together ------------------------------------------------------------------------------------------


def test_a_folder_of_settings_is_a_list_and_a_single_city_keeps_its_plain_names(tmp_path, monkeypatch):
    first, _ = two_towns(tmp_path)
    monkeypatch.setenv("DENSITY_CITIES", str(first.folder))
    (city,) = City.all_here()
    assert (city.name, city.others) == ("town", ())
    assert dg.AssetKey("density") in defs().resolve_asset_graph().get_all_asset_keys()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('name = "old-village"', 'name = "town"'), "must differ in name, got 'town' and 'town'"),
        (("[engine]", '[ledger]\nurl = "postgresql://a.example/x"\n[engine]'), "must share one ledger"),
        (("[engine]", '[dagster]\nstorage = "postgresql://a.example/x"\n[engine]'), "their history in one place"),
    ],
)
def test_cities_that_cannot_share_an_instance_are_refused(tmp_path, monkeypatch, change, said):
    towns = two_towns(tmp_path)
    towns[1].set(*change)
    monkeypatch.setenv("DENSITY_CITIES", listed(*towns))
    with pytest.raises(BadInput, match=said):
        City.all_here()
