"""Every scheme releases the small town, one after another in one process, and nothing of one is left for the next."""

import json

import dagster as dg
import polars as pl
import pytest
from catalogues import entry_in
from ledgers import open_ledger
from runs import MONDAY, WEEK, materialise, only, ran
from weeks import WEEKS, write_week

from density_assets import definitions
from density_assets.city import City
from density_assets.publication.verification import outcome
from density_assets.schemes import SCHEMES
from density_assets.settings import load_settings

# What a release is made of, by scheme; everything else is counted for people to look at, or not at all.
GEOMETRY = {"cells", "antennas", "towers", "tower_cells", "overlaps"}
COUNTED = {"visits", "truncated_visits", "tower_series"}
ALWAYS = GEOMETRY | COUNTED | {"noisy_totals", "noisy_series", "smoothed_series"}
COVER = {"cover_graph", "cover_series"}
SAMPLED = {"one_visit_histogram", "visit_total"}
MADE_OF = {
    "lowrank": {"visit_total", "tower_totals", "usual_week"},
    "gpa": {"iris_series"},
    "efpag_iris": {"iris_series", "clusters"},
    **dict.fromkeys(("lpa", "direct", "threshold", "static_hybrid", "dynamic_hybrid"), COVER),
    **dict.fromkeys(("fpa", "efpa", "efpag"), COVER | SAMPLED | {"clusters"}),
}
PUBLISHED = (
    *("density", "published_counts", "privacy_statement", "density_report", "signed_release"),
    *("ledger", "audit_page", "release_database"),
)
ARGUMENTS = {"analytic Gaussian": "Gaussian noise", "PLD": "privacy loss distribution", "RDP": "Rényi divergences"}
BESIDE = {"lowrank": {"errors_of_sums"}}  # published with the counts


def under(town, home, scheme: str) -> City:
    """The town under another scheme, in a home of its own."""
    settings = load_settings(town.settings)
    chosen = settings.scheme.model_copy(update={"name": scheme})
    city = City(settings.model_copy(update={"scheme": chosen}), home / scheme)
    open_ledger(city)
    return city


def ancestors(city: City, asset: str) -> set[str]:
    """All assets that an asset is made of."""
    assets, _ = definitions.graph(city)
    reads = {spec.key: [dep.asset_key for dep in spec.deps] for one in assets for spec in one.specs}

    found, waiting = set(), list(reads[dg.AssetKey(asset)])
    while waiting:
        key = waiting.pop()
        if key not in found:  # an asset may read its own week before
            found.add(key)
            waiting += reads[key]
    return {key.to_user_string() for key in found}


def refuse_other_words(entry: dict, said: dict) -> None:
    """Raise if the registry is told of another argument, other noise or another promise than the statement gives."""
    accounted, told = said["accounted"], entry["deployment"]
    argument = ARGUMENTS[accounted["accountant"]]
    assert argument in told["accounting"]["composition"]
    assert 0.99 * said["epsilon"] < accounted["epsilon"] <= said["epsilon"]  # the promise is used, and kept
    drawn = {event["kind"] for charge in said["charges"] for event in charge["events"]}
    assert all(kind in told["implementation"]["mechanisms"] for kind in drawn)
    assert (accounted["accountant"] == "analytic Gaussian") == all("aussian" in kind for kind in drawn)


def test_every_scheme_is_listed():
    assert MADE_OF.keys() == SCHEMES.keys()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_release_is_made_of_what_its_scheme_reads_and_of_nothing_else(town, tmp_path, scheme):
    assert ancestors(under(town, tmp_path, scheme), "density") == ALWAYS | MADE_OF[scheme]


def test_all_schemes_release_in_one_process_what_they_were_asked_for(town, tmp_path):
    """All are wired before the first runs; each then runs what it is made of, and that is enough."""
    cities = {scheme: under(town, tmp_path, scheme) for scheme in SCHEMES}
    wired = {scheme: definitions.build(city).resolve_job_def("weekly_release") for scheme, city in cities.items()}
    measured = set()
    for scheme, city in cities.items():
        needed = {*ALWAYS, *MADE_OF[scheme], *BESIDE.get(scheme, ()), *PUBLISHED}
        with dg.DagsterInstance.ephemeral() as instance:
            result = wired[scheme].execute_in_process(
                instance=instance, partition_key=WEEK, asset_selection=only(*needed)
            )
        assert result.success
        assert ran(result) == needed
        folder = city.store.release
        said = json.loads((folder / f"privacy_statement_{WEEK}.json").read_text())
        assert said["scheme"] == scheme
        assert outcome(folder / f"manifest_{WEEK}.json").status == 3  # whole; whose key it is is not asked
        published = pl.read_parquet(folder / f"density_{WEEK}.parquet")["count"]
        assert len(published) == 4 * 168
        assert published.min() >= 0
        # the ledger knows a scheme by its draws: they are those of this city's plan
        refuse_other_words(entry_in(folder / f"dp_deployment_{WEEK}.yaml"), said)
        charges = [row.charge for row in city.ledger.rows()]
        release = city.release(MONDAY)
        assert release.scheme == scheme
        assert city.store.read_public("audit_page")["scheme"].to_list() == [scheme]
        assert {charge.door: charge.events for charge in charges} == dict(city.scheme.plan(city.settings))
        assert {charge.measurement for charge in charges} == {release.key(door) for door in release.doors}
        measured |= {charge.measurement for charge in charges}
    assert len(measured) == sum(len(city.plan) for city in cities.values())  # no draw serves two schemes


def test_two_weeks_of_a_scheme_without_totals_are_released(town, tmp_path):
    """The second is compared with the first, of which no totals were drawn."""
    town.set("[engine]", '[scheme]\nname = "gpa"\n[privacy]\nepsilon = 5.0\nbudget_epsilon = 100.0\n[engine]')
    for week in WEEKS[:2]:
        write_week(town, week)
        assert materialise(town.settings, tmp_path / "home", week, sealed=False).success
