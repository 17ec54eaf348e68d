"""The check on the audit: silent within the promise, a warning beyond it."""

import dagster as dg
import polars as pl
import pytest

from density_assets.attacks.promise import largest_auc
from density_assets.checks.audits import membership_within_promise
from density_assets.definitions import build_definitions
from density_assets.partitions import WEEKS
from density_assets.settings import Settings
from resources.store import Store

ALLOWED = largest_auc(0.3, 2e-6)


def checked(store: Store, week: str, score: float) -> dg.AssetCheckEvaluation:
    """The outcome of the check in a run of one week, on results as the audit leaves them."""

    @dg.asset(name="membership_audit", partitions_def=WEEKS)
    def audit() -> None:
        folder = store.folder / "studies" / "membership_audit" / week
        folder.mkdir(parents=True)
        table = {"of": ["raw counts", "release", "release"], "auc": [1.0, 0.5, 0.4], "matched": [1.0, score, score]}
        pl.DataFrame(table).write_parquet(folder / "results.parquet")

    resources = {"settings": Settings(), "store": store}
    result = dg.materialize([audit, membership_within_promise], partition_key=week, resources=resources)
    (evaluation,) = result.get_asset_check_evaluations()
    return evaluation


def test_a_mean_above_what_the_promise_allows_warns_for_its_week_alone(tmp_path):
    store = Store(tmp_path, "embedded")
    above, within = checked(store, "2007-09-10", ALLOWED + 0.01), checked(store, "2007-09-17", ALLOWED - 0.01)
    assert (above.passed, within.passed) == (False, True)
    assert above.severity == dg.AssetCheckSeverity.WARN
    assert above.metadata["largest_auc"].value == pytest.approx(ALLOWED)
    assert f"allow {ALLOWED:.3f}" in above.description


def test_the_audit_and_its_check_are_part_of_the_graph_but_not_of_a_release(tmp_path):
    defs = build_definitions(Settings(), tmp_path)
    graph = defs.resolve_asset_graph()
    key = dg.AssetKey("membership_audit")
    assert key in graph.get_all_asset_keys()
    assert dg.AssetCheckKey(key, "membership_within_promise") in graph.asset_check_keys
    steps = [node.name for node in defs.resolve_job_def("weekly_release").nodes]
    assert "density" in steps
    assert [name for name in steps if "study" in name or "membership" in name] == []
