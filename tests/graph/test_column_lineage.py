"""Every column says where it comes from, and what is computed from people goes back, through the doors, to visits."""

from pathlib import Path

import pytest

from density_assets.city import City
from density_assets.definitions import BLUEPRINTS
from density_assets.graph.columns import CALENDAR, SETTINGS, Columns
from density_assets.graph.naming import FINAL
from density_assets.schemes import SCHEMES
from density_assets.settings import SchemeSettings, Settings
from density_assets.settings.city import CitySettings
from density_assets.settings.people import PeopleSettings

TERMINAL = {SETTINGS, CALENDAR, "records"}  # where lineage ends: what a person chose, the calendar, operators' files


def columns_under(scheme: str) -> dict[str, Columns]:
    city = City(Settings(scheme=SchemeSettings(name=scheme)), Path("never made"))
    return {blueprint.name: blueprint.columns(city) for blueprint in BLUEPRINTS}


def ancestors(tables: dict[str, Columns], asset: str, column: str) -> set[tuple[str, str]]:
    """The columns a column comes from, all the way up."""
    seen: set[tuple[str, str]] = set()
    waiting = [(asset, column)]
    while waiting:
        origins = tables[waiting[-1][0]][waiting.pop()[1]].columns
        waiting += [origin for origin in origins if origin not in seen]
        seen.update(origins)
    return seen


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_column_names_origins_that_exist_and_that_its_asset_reads(scheme):
    city = City(Settings(scheme=SchemeSettings(name=scheme)), Path("never made"))
    tables = columns_under(scheme)
    for blueprint in BLUEPRINTS:
        for name, column in tables[blueprint.name].items():
            assert column.origins, f"{blueprint.name}.{name} names no origin"
            assert {origin for origin in column.origins if "." not in origin} <= TERMINAL
            for asset, origin in column.columns:
                assert origin in tables[asset], f"{blueprint.name}.{name} names {asset}.{origin}, which is not there"
                assert asset in blueprint.reads(city), (
                    f"{blueprint.name} names {asset} as an origin and does not read it"
                )


@pytest.mark.parametrize("scheme", SCHEMES)
def test_released_counts_and_errors_go_back_through_a_door_to_visits(scheme):
    tables = columns_under(scheme)
    for column in ("count", "standard_error"):
        found = ancestors(tables, "density", column)
        assert {("visits", "user_id"), ("visits", "hour"), ("visits", "tower_id")} <= found
        assert ("noisy_series", "value") in found
    direct = {
        asset
        for columns in ("smoothed_series", "density")
        for it in tables[columns].values()
        for asset, _ in it.columns
    }
    assert direct.isdisjoint(
        {"visits", "truncated_visits", "tower_series", "tower_totals", "iris_series", "cover_series"}
    )


def test_a_scheme_that_does_not_look_at_the_cover_has_none_upstream():
    found = {asset for asset, _ in ancestors(columns_under("lowrank"), "density", "count")}
    assert found.isdisjoint({"cover_graph", "cover_series", "clusters", "iris_series"})
    found = {asset for asset, _ in ancestors(columns_under("efpag"), "density", "count")}
    assert {"cover_graph", "cover_series", "clusters"} <= found


def test_released_counts_of_lowrank_go_back_to_the_totals_of_towers():
    for column in ("count", "standard_error"):
        found = ancestors(columns_under("lowrank"), "density", column)
        assert {("tower_totals", "weighted"), ("visit_total", "visits"), ("tower_series", "weighted")} <= found


ASKED_FOR = {blueprint.name for blueprint in BLUEPRINTS if blueprint.group == FINAL}


def test_the_database_waits_for_everything_it_holds_that_nobody_has_to_ask_for():
    database = next(blueprint for blueprint in BLUEPRINTS if blueprint.name == "release_database")
    described = Settings(
        city=CitySettings(regions=Path("regions.csv")),
        people=PeopleSettings(market_share=0.3, devices_per_person=1, active_share=0.2),
    )
    for settings in (Settings(), described):
        city = City(settings, Path("never made"))
        held = {plan.name for plan in BLUEPRINTS if plan.zone.open and plan.where(city)}
        assert set(database.inputs(city)) == held - {database.name, "signed_register"} - ASKED_FOR


def test_nothing_a_week_makes_waits_for_what_only_a_person_asks_for():
    """The launch dialog would warn, each time, that an input was never made."""
    city = City(Settings(), Path("never made"))
    waiting = {blueprint.name for blueprint in BLUEPRINTS if ASKED_FOR & set(blueprint.inputs(city))}
    assert waiting == {"final_release"}
