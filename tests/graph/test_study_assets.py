"""Studies and attack tests in the asset graph: their names and groups; releasing a week runs none of them."""

from dataclasses import replace

import dagster as dg
import polars as pl

from density_assets import definitions
from density_assets.city import City
from density_assets.graph.checks.attack_tests import epsilon_within_promise
from density_assets.graph.research import study_asset
from density_assets.graph.step import Reader, RecordStep
from density_assets.privacy.zones import Zone
from density_assets.research.density.scheme_table import SCHEME_TABLE
from density_assets.research.studies import STUDIES
from density_assets.settings import Settings


def named_and_grouped(city: City, **changes) -> tuple[str, str | None]:
    (spec,) = study_asset(replace(SCHEME_TABLE, name="question", **changes), city).specs
    return spec.key.to_user_string(), spec.group_name


def test_an_audit_is_named_for_itself_and_shown_apart(tmp_path):
    city = City(Settings(), tmp_path)
    assert named_and_grouped(city) == ("study_question", "6_studies")
    assert named_and_grouped(city, kind="attack_test") == ("question", "7_attack_tests")


def test_releasing_a_week_runs_no_study_and_no_audit(tmp_path):
    defs = definitions.build(City(Settings(), tmp_path))
    run = {node.name for node in defs.resolve_job_def("weekly_release").graph.nodes}  # assets and checks
    assert {"density", "ledger_ledger_is_whole"} <= run
    assert not [name for name in run if name.startswith(tuple(study.asset_name for study in STUDIES.values()))]


def checked(tmp_path, **bounds) -> dg.AssetCheckResult:
    """The outcome of the check on results as the audit leaves them."""
    city = City(Settings(), tmp_path)
    folder = city.store.folder / "studies" / "epsilon_audit"
    folder.mkdir(parents=True)
    found = {"calibration": "sound", "epsilon": 1.0, "scheme": "gpa", "canary": "spread", "runs": 100}
    pl.DataFrame([found | bounds]).write_parquet(folder / "results.parquet")
    read = Reader("epsilon_within_promise", Zone.EVALUATION, {}, city.store)
    return epsilon_within_promise.function(RecordStep(city.settings, read, city=city))


def test_the_audits_check_passes_within_the_promise_and_fails_beyond(tmp_path):
    assert checked(tmp_path / "kept", bound=0.2, gaussian_bound=0.99).passed
    broken = checked(tmp_path / "broken", bound=1.01, gaussian_bound=None)
    assert not broken.passed
    assert broken.severity is dg.AssetCheckSeverity.ERROR
    assert "gpa promises epsilon 1 and gives at least 1.01" in broken.description


def test_the_check_belongs_to_the_audit(tmp_path):
    graph = definitions.build(City(Settings(), tmp_path)).resolve_asset_graph()
    assert dg.AssetCheckKey(dg.AssetKey("epsilon_audit"), "epsilon_within_promise") in graph.asset_check_keys
