"""Studies stand beside the city: a code location of their own, which nothing that makes a release loads."""

import subprocess
import sys
from dataclasses import replace

import dagster as dg
import polars as pl
import pytest

from density_assets import definitions
from density_assets.city import City
from density_assets.errors import BadInput
from density_assets.graph.catalogue import ATTACK_CHECKS, EPSILON_WITHIN_PROMISE, MEMBERSHIP_WITHIN_PROMISE, KnownCheck
from density_assets.graph.naming import weekly_partitions
from density_assets.publication.assessment import ATTACK_TESTS
from density_assets.research.definitions import JUDGES, attack_check, build_studies, study_asset
from density_assets.research.density.releases import SCHEME_TABLE
from density_assets.research.promise.epsilon_bounds import largest_auc
from density_assets.research.studies import STUDIES, study_named
from density_assets.research.study import Source, conduct
from density_assets.settings import Settings
from resources.tables.store import Store

ALLOWED = largest_auc(0.3, 1e-7)
WEEK = "2007-09-10"


def test_the_code_location_of_a_city_loads_no_study_and_none_of_their_libraries():
    code = "import sys, density_assets.definitions; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "density_assets.graph.confidential" in modules
    assert [name for name in modules if name.startswith("density_assets.research")] == []
    assert {"matplotlib", "sklearn", "ot"} & set(modules) == set()


def test_the_two_locations_share_no_asset(tmp_path):
    city = City(Settings(), tmp_path)
    releases = definitions.build(city).resolve_asset_graph().materializable_asset_keys
    studies = build_studies(city).resolve_asset_graph().materializable_asset_keys
    assert {key.to_user_string() for key in studies} == {study_named(name).asset_name for name in STUDIES}
    assert releases & studies == set()


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_is_known_by_its_name(name):
    study = study_named(name)
    assert study.name == name
    assert (study.asset_name in ATTACK_TESTS) == (study.kind == "attack_test")


def test_an_attack_test_may_not_read_the_city():
    with pytest.raises(ValueError, match="must invent its people"):
        replace(SCHEME_TABLE, kind="attack_test")


def test_an_attack_test_is_named_for_itself_and_shown_apart(tmp_path):
    def shown(**changes) -> tuple[str, str | None]:
        (spec,) = study_asset(replace(SCHEME_TABLE, name="question", **changes), City(Settings(), tmp_path)).specs
        return spec.key.to_user_string(), spec.group_name

    assert shown() == ("study_question", "6_studies")
    assert shown(kind="attack_test", tables=()) == ("question", "7_attack_tests")


def test_a_study_whose_library_is_missing_names_the_extra(tmp_path):
    def load(_) -> None:
        raise ModuleNotFoundError("No module named 'sklearn'", name="sklearn")

    source = Source(Settings(), Store(tmp_path, "embedded"), Settings().city.first_week)
    with pytest.raises(BadInput, match=r"needs sklearn.*density-assets\[research\]"):
        conduct(replace(SCHEME_TABLE, load=load), source, 1, print)


def test_the_checks_of_attack_tests_are_those_that_the_audit_page_knows(tmp_path):
    checks = build_studies(City(Settings(), tmp_path)).resolve_asset_graph().asset_check_keys
    assert {(key.asset_key.to_user_string(), key.name) for key in checks} == {
        (known.asset, known.name) for known in ATTACK_CHECKS
    }


def checked(city: City, known: KnownCheck, week: str, results: pl.DataFrame) -> dg.AssetCheckEvaluation:
    """The outcome of a check in a run of one week, on results as the attack test leaves them."""
    test = study_named(known.asset)

    @dg.asset(name=known.asset, partitions_def=weekly_partitions(city) if test.weekly else None)
    def attack() -> None:
        folder = city.store.folder / "studies" / known.asset / (week if test.weekly else "")
        folder.mkdir(parents=True)
        results.write_parquet(folder / "results.parquet")

    check = attack_check(known, dict(JUDGES)[known], city)
    result = dg.materialize([attack, check], partition_key=week if test.weekly else None)
    (evaluation,) = result.get_asset_check_evaluations()
    return evaluation


@pytest.mark.parametrize(
    ("bounds", "problem"),
    [
        ({"bound": 0.2, "gaussian_bound": 0.99}, None),
        ({"bound": 1.01, "gaussian_bound": None}, "gpa promises epsilon 1 and gives at least 1.01"),
    ],
)
def test_a_bound_above_its_claim_fails(tmp_path, bounds, problem):
    run = {"calibration": "sound", "epsilon": 1.0, "scheme": "gpa", "canary": "spread", "runs": 100}
    outcome = checked(City(Settings(), tmp_path), EPSILON_WITHIN_PROMISE, WEEK, pl.DataFrame([run | bounds]))
    assert outcome.passed == (problem is None)
    assert outcome.severity is dg.AssetCheckSeverity.ERROR
    assert problem is None or problem in outcome.description


def membership_checked(city: City, week: str, scores: list[float]) -> dg.AssetCheckEvaluation:
    others = {"configured": [False] * 2, "auc": [1.0] * 2, "matched": [1.0] * 2}  # raw counts, another scheme
    released = {"configured": [True] * len(scores), "auc": [0.4] * len(scores), "matched": scores}
    return checked(city, MEMBERSHIP_WITHIN_PROMISE, week, pl.concat([pl.DataFrame(others), pl.DataFrame(released)]))


@pytest.mark.parametrize(
    ("scores", "passes"),
    [
        ([ALLOWED - 0.01] * 2, True),
        ([ALLOWED + 0.01] * 2, False),
        ([ALLOWED - 0.04, ALLOWED + 0.06], True),  # mean 0.01 above, standard error 0.05
        ([ALLOWED - 0.04, ALLOWED + 0.06] * 300, False),  # the same mean, standard error 0.002
    ],
)
def test_a_mean_above_what_the_promise_allows_warns_unless_chance_explains_it(tmp_path, scores, passes):
    result = membership_checked(City(Settings(), tmp_path), WEEK, scores)
    assert result.passed == passes
    assert result.severity == dg.AssetCheckSeverity.WARN
    assert result.metadata["largest_auc"].value == pytest.approx(ALLOWED)
    assert result.metadata["standard_error"].value == pytest.approx(pl.Series(scores).std() / len(scores) ** 0.5)
    assert passes or f"allow {ALLOWED:.3f}" in result.description


def test_each_week_is_judged_by_its_own_results(tmp_path):
    city = City(Settings(), tmp_path)
    above = membership_checked(city, WEEK, [ALLOWED + 0.01] * 2)
    within = membership_checked(city, "2007-09-17", [ALLOWED - 0.01] * 2)
    assert (above.passed, within.passed) == (False, True)
