"""The check on the audit: silent within the promise, a warning beyond it."""

import dagster as dg
import polars as pl
import pytest

from density_assets import definitions
from density_assets.city import City
from density_assets.graph.checks.attack_tests import membership_within_promise
from density_assets.graph.partitions import weekly_partitions
from density_assets.research.promise.allowed import largest_auc
from density_assets.settings import Settings

ALLOWED = largest_auc(0.3, 1e-7)


def checked(city: City, week: str, scores: list[float]) -> dg.AssetCheckEvaluation:
    """The outcome of the check in a run of one week, on results as the audit leaves them."""

    @dg.asset(name="membership_audit", partitions_def=weekly_partitions(city))
    def audit() -> None:
        folder = city.store.folder / "studies" / "membership_audit" / week
        folder.mkdir(parents=True)
        released = {"configured": [True] * len(scores), "auc": [0.4] * len(scores), "matched": scores}
        others = {"configured": [False] * 2, "auc": [1.0] * 2, "matched": [1.0] * 2}  # raw counts, another scheme
        pl.concat([pl.DataFrame(others), pl.DataFrame(released)]).write_parquet(folder / "results.parquet")

    check = membership_within_promise.build(city, definitions.catalogue(city))
    result = dg.materialize([audit, check], partition_key=week)
    (evaluation,) = result.get_asset_check_evaluations()
    return evaluation


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
    result = checked(City(Settings(), tmp_path), "2007-09-10", scores)
    assert result.passed == passes
    assert result.severity == dg.AssetCheckSeverity.WARN
    assert result.metadata["largest_auc"].value == pytest.approx(ALLOWED)
    assert result.metadata["standard_error"].value == pytest.approx(pl.Series(scores).std() / len(scores) ** 0.5)
    assert passes or f"allow {ALLOWED:.3f}" in result.description


def test_each_week_is_judged_by_its_own_audit(tmp_path):
    city = City(Settings(), tmp_path)
    above = checked(city, "2007-09-10", [ALLOWED + 0.01] * 2)
    within = checked(city, "2007-09-17", [ALLOWED - 0.01] * 2)
    assert (above.passed, within.passed) == (False, True)


def test_the_audit_and_its_check_are_part_of_the_graph_but_not_of_a_release(tmp_path):
    defs = definitions.build(City(Settings(), tmp_path))
    graph = defs.resolve_asset_graph()
    key = dg.AssetKey("membership_audit")
    assert key in graph.get_all_asset_keys()
    assert dg.AssetCheckKey(key, "membership_within_promise") in graph.asset_check_keys
    steps = [node.name for node in defs.resolve_job_def("weekly_release").nodes]
    assert "density" in steps
    assert [name for name in steps if "study" in name or "membership" in name] == []
