"""The zone rule: a planted leak does not load."""

from pathlib import Path

import dagster as dg
import pytest

from density_assets import definitions
from density_assets.city import City
from density_assets.graph.assets import asset
from density_assets.graph.catalogue import find_leaks, refuse_leaks
from density_assets.privacy.zones import Zone, ZoneLeak
from density_assets.settings import Settings

CITY = City(Settings(), Path("nowhere"))  # described without touching a disk


def planted(name: str, zone: str | None, *reads: str) -> dg.AssetsDefinition:
    @dg.asset(name=name, tags={"zone": zone} if zone else {}, deps=list(reads))
    def leaking() -> None: ...

    return leaking


def ours() -> list[dg.AssetsDefinition]:
    assets, _ = definitions.graph(CITY)
    return assets


def test_our_graph_has_no_leak():
    refuse_leaks(ours())
    assert list(find_leaks(definitions.catalogue(CITY).nodes)) == []


@pytest.mark.parametrize(
    ("zone", "reads"),
    [("release", "iris_series"), ("release", "visits"), ("public", "tower_series"), ("public", "noisy_series")],
)
def test_a_free_asset_that_reads_past_the_doors_is_refused(zone, reads):
    with pytest.raises(ZoneLeak, match=rf"shortcut \({zone}\) reads {reads}"):
        refuse_leaks([*ours(), planted("shortcut", zone, reads)])


def test_a_release_of_evaluation_and_a_door_that_looks_at_it_are_refused():
    evaluation = planted("scores", "evaluation", "iris_series")
    with pytest.raises(ZoneLeak, match=r"page \(release\) reads scores \(evaluation\)"):
        refuse_leaks([*ours(), evaluation, planted("page", "release", "scores")])
    with pytest.raises(ZoneLeak, match=r"door \(mechanism\) reads scores \(evaluation\)"):
        refuse_leaks([*ours(), evaluation, planted("door", "mechanism", "scores")])


def test_an_asset_without_a_zone_is_refused():
    with pytest.raises(ZoneLeak, match="asset nowhere must carry a zone tag"):
        refuse_leaks([*ours(), planted("nowhere", None, "cells")])
    with pytest.raises(ZoneLeak, match="reads elsewhere, which has no zone"):
        refuse_leaks([*ours(), planted("page", "release", "elsewhere")])


def test_a_leak_stops_the_definitions_from_loading(monkeypatch):
    @asset(Zone.RELEASE, {}, deps=("visits",))
    def shortcut(step): ...

    monkeypatch.setattr(definitions, "BLUEPRINTS", [*definitions.BLUEPRINTS, shortcut])
    with pytest.raises(ZoneLeak, match=r"shortcut \(release\) reads visits \(confidential\)"):
        definitions.build(CITY)
