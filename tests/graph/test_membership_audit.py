"""The check on the audit: silent within the promise, a warning beyond it."""

import dagster as dg
import polars as pl
import pytest

from density_assets.attacks.promise import largest_auc
from density_assets.checks.audits import membership_within_promise
from density_assets.definitions import build_definitions
from density_assets.settings import Settings
from resources.store import Store

ALLOWED = largest_auc(0.3, 2e-6)


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
    store = Store(tmp_path, "embedded")
    folder = store.folder / "studies" / "membership_audit"
    folder.mkdir(parents=True)
    released = {"configured": [True] * len(scores), "auc": [0.4] * len(scores), "matched": scores}
    others = {"configured": [False] * 2, "auc": [1.0] * 2, "matched": [1.0] * 2}  # raw counts, another scheme
    pl.concat([pl.DataFrame(others), pl.DataFrame(released)]).write_parquet(folder / "results.parquet")
    context = dg.build_asset_check_context(resources={"settings": Settings(), "store": store})
    result = membership_within_promise(context)
    assert result.passed == passes
    assert result.severity == dg.AssetCheckSeverity.WARN
    assert result.metadata["largest_auc"].value == pytest.approx(ALLOWED)
    assert result.metadata["standard_error"].value == pytest.approx(pl.Series(scores).std() / len(scores) ** 0.5)
    assert passes or f"allow {ALLOWED:.3f}" in result.description


def test_the_audit_and_its_check_are_part_of_the_graph_but_not_of_a_release(tmp_path):
    defs = build_definitions(Settings(), tmp_path)
    graph = defs.resolve_asset_graph()
    key = dg.AssetKey("membership_audit")
    assert key in graph.get_all_asset_keys()
    assert dg.AssetCheckKey(key, "membership_within_promise") in graph.asset_check_keys
    steps = [node.name for node in defs.resolve_job_def("weekly_release").nodes]
    assert "density" in steps
    assert [name for name in steps if "study" in name or "membership" in name] == []
