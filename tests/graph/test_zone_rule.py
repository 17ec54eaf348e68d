"""The zone rule: a planted leak does not load."""

import dagster as dg
import pytest

from density_assets import definitions
from density_assets.graph.zone_rule import ZoneLeak, find_leaks, refuse_leaks


def planted(name: str, zone: str | None, *reads: str) -> dg.AssetsDefinition:
    @dg.asset(name=name, tags={"zone": zone} if zone else {}, deps=list(reads))
    def leaking() -> None: ...

    return leaking


def test_our_graph_has_no_leak():
    assert list(find_leaks([spec for asset in definitions.graph() for spec in asset.specs])) == []


@pytest.mark.parametrize(
    ("zone", "reads"),
    [("release", "iris_series"), ("release", "visits"), ("public", "tower_series"), ("public", "noisy_series")],
)
def test_a_free_asset_that_reads_past_the_doors_is_refused(zone, reads):
    with pytest.raises(ZoneLeak, match=rf"shortcut \({zone}\) reads {reads}"):
        refuse_leaks([*definitions.graph(), planted("shortcut", zone, reads)])


def test_a_release_of_evaluation_and_a_door_that_looks_at_it_are_refused():
    evaluation = planted("scores", "evaluation", "iris_series")
    with pytest.raises(ZoneLeak, match=r"page \(release\) reads scores \(evaluation\)"):
        refuse_leaks([*definitions.graph(), evaluation, planted("page", "release", "scores")])
    with pytest.raises(ZoneLeak, match=r"door \(mechanism\) reads scores \(evaluation\)"):
        refuse_leaks([*definitions.graph(), evaluation, planted("door", "mechanism", "scores")])


def test_an_asset_without_a_zone_is_refused():
    with pytest.raises(ZoneLeak, match="asset nowhere must carry a zone tag"):
        refuse_leaks([*definitions.graph(), planted("nowhere", None, "cells")])
    with pytest.raises(ZoneLeak, match="reads elsewhere, which has no zone"):
        refuse_leaks([*definitions.graph(), planted("page", "release", "elsewhere")])


def test_a_leak_stops_the_definitions_from_loading(monkeypatch, tmp_path):
    leak = planted("shortcut", "release", "visits")
    monkeypatch.setattr(definitions.release, "shortcut", leak, raising=False)
    with pytest.raises(ZoneLeak):
        definitions.graph()
