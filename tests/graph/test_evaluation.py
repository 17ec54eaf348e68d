"""Evaluation compares with the truth: right where that can be checked; of real people asked for, and confidential."""

import json

import dagster as dg
import duckdb
import numpy as np
import polars as pl
import pytest
from runs import MONDAY, WEEK, materialise, opened, ran, shown

from density_assets import series
from density_assets.calendar import HOURS
from density_assets.definitions import build
from density_assets.geography.tables import cells_from
from density_assets.graph import evaluation
from density_assets.quality.accuracy import emd_per_hour, mre, mre_per_hour
from density_assets.settings import load_settings
from resources.tables.stamps import stamp_values
from resources.tables.store import Store


def test_a_synthetic_city_shows_its_errors(town, tmp_path):
    town.set('visits = "visits/{week}/*.csv"', "users = 30000")
    town.set("[engine]", "[privacy]\nepsilon = 5.0\nbudget_epsilon = 50.0\n[engine]")
    result = materialise(town.settings, tmp_path)
    metadata = shown(result, "evaluation_metrics").metadata
    assert 0 < metadata["mre"].value < 0.5
    assert 0.8 < metadata["pc"].value <= 1
    assert {"over_the_week", "over_the_day", "boxes", "map_of_mre", "map_of_pc"} <= set(metadata)
    store = Store(tmp_path, "town", stamp_values(load_settings(town.settings)))
    ids = store.read_public("cells")["cell_id"]
    truth = series.matrix(store.read_week("iris_series", MONDAY), ids, "original")
    with duckdb.connect(str(store.release_database), read_only=True) as connection:
        counts = pl.DataFrame(connection.sql("select cell_id, hour, count from density").to_arrow_table())
    released = series.matrix(counts, ids, "count")
    assert metadata["mre"].value == pytest.approx(mre(truth, released), abs=1e-4)
    hourly, daily = metadata["mre_per_hour"].value, metadata["mre_by_hour_of_day"].value
    assert hourly == pytest.approx(mre_per_hour(truth, released).tolist(), abs=1e-4)
    assert daily == pytest.approx(np.reshape(hourly, (7, 24)).mean(axis=0).tolist(), abs=1e-3)
    centroids = cells_from(store.read_public("cells")).centroids
    assert metadata["emd_per_hour"].value[30] == pytest.approx(emd_per_hour(truth, released, centroids)[30], abs=1e-4)
    assert len(metadata["emd_by_hour_of_day"].value) == 24


def evaluate(town, home) -> tuple[dg.ExecuteInProcessResult, str]:
    """Ask for the evaluation of a week, and what the UI then knows of the run: every line of its log."""
    job = build(opened(town.settings, home)).resolve_job_def("evaluate_release")
    with dg.DagsterInstance.ephemeral() as instance:
        result = job.execute_in_process(instance=instance, partition_key=WEEK, raise_on_error=False)
        return result, "\n".join(entry.to_json() for entry in instance.all_logs(result.run_id))


def test_real_people_are_compared_with_the_truth_only_when_a_person_asks(released_once, released_town):
    made = ran(released_once[-1])
    assert {"density_report", "audit_page", "release_database"} <= made
    assert "evaluation_metrics" not in made
    assert ran(evaluate(*released_town)[0]) == {"evaluation_metrics"}


def test_nothing_that_starts_by_itself_and_nothing_that_blocks_evaluates_real_people(town, tmp_path):
    definitions = build(opened(town.settings, tmp_path))
    key, graph = dg.AssetKey("evaluation_metrics"), definitions.resolve_asset_graph()
    assert graph.get(key).child_keys == set()
    assert graph.get(key).automation_condition is None
    assert not [check for check in graph.asset_check_keys if check.asset_key == key]
    started = {schedule.job_name for schedule in definitions.schedules}
    started |= {target.job_name for sensor in definitions.sensors for target in sensor.targets}
    assert started == {"weekly_release"}
    assert key not in definitions.resolve_job_def("weekly_release").asset_layer.selected_asset_keys


def test_errors_of_real_people_stay_in_the_confidential_folder(released_town):
    town, home = released_town
    result, _ = evaluate(town, home)
    assert set(shown(result, "evaluation_metrics").metadata) == {
        "dagster/column_schema",
        "dagster/column_lineage",
        "details",
    }
    about = home / "town/confidential/about/evaluation_metrics"
    by_hour = {f"{metric}_{by}" for metric in ("mre", "emd") for by in ("per_hour", "by_hour_of_day")}
    found = json.loads((about / f"{WEEK}.json").read_text())
    assert set(found) == {"rows", "mre", "pc", "emd", "emd_hours", "emd_standard_error"} | by_hour
    assert None in found["emd_per_hour"]  # hours in which one map alone is empty
    assert (about / f"{WEEK}_map_of_mre.png").exists()
    assert not list((home / "town/release").glob("*evaluation*"))


@pytest.fixture
def invented_people(town, tmp_path):
    """A town of people who do not exist, and its home with one released week."""
    town.set('visits = "visits/{week}/*.csv"', "users = 500")
    materialise(town.settings, tmp_path)
    return town, tmp_path


@pytest.mark.parametrize(("people", "real"), [("released_town", True), ("invented_people", False)])
def test_a_failure_tells_of_real_people_only_that_there_was_one(request, monkeypatch, people, real):
    town, home = request.getfixturevalue(people)

    def fail(truth, _):
        raise ValueError(f"the truth is {truth.sum():.0f} visits")

    monkeypatch.setattr(evaluation, "mre_per_hour", fail)
    result, log = evaluate(town, home)
    assert not result.success
    assert ("the truth is" in log) is not real
    assert ("mre_per_hour" in log) is not real  # nor where it failed
    file = home / f"town/confidential/about/evaluation_metrics/{WEEK}_failure.txt"
    assert file.exists() is real
    if real:
        assert "the truth is 2 visits" in file.read_text()
        assert file.stat().st_mode & 0o077 == 0
        assert f"confidential/about/evaluation_metrics/{WEEK}_failure.txt" in log


@pytest.mark.parametrize(("many", "hours"), [(4, list(range(HOURS))), (3, evaluation.sampled_hours())])
def test_the_distance_of_many_cells_is_that_of_one_hour_of_each_eighth_of_the_week(monkeypatch, many, hours):
    monkeypatch.setattr(evaluation, "MANY_CELLS", many)
    truth, released = np.random.default_rng(1).integers(1, 9, (2, 4, HOURS)).astype(np.float64)
    places = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.float64)
    found = evaluation.distances(truth, released, places, threads=2)
    assert np.flatnonzero(~np.isnan(found)).tolist() == hours
    assert found[hours] == pytest.approx(emd_per_hour(truth, released, places)[hours], abs=0)
    assert {hour // 21 for hour in hours} == set(range(8))


def test_the_error_of_a_sample_is_that_of_a_mean_and_none_where_every_hour_is_known():
    every, some = np.arange(168.0), np.full(168, np.nan)
    assert evaluation.error_of_mean(every) == 0
    some[[0, 84]] = 1.0, 3.0
    assert evaluation.error_of_mean(some) == pytest.approx(np.sqrt(2 / 2 * (1 - 2 / 168)))
    some[84] = np.nan
    assert np.isnan(evaluation.error_of_mean(some))


def test_a_sample_is_about_as_far_off_as_its_error_says():
    """Over weeks whose distances follow the day, with noise: the mean of the sampled hours beside that of all."""
    random, off = np.random.default_rng(3), []
    for _ in range(300):
        week = 100 + 10 * np.sin(np.arange(168) / 24 * 2 * np.pi) + random.normal(0, 10, 168)
        known = np.full(168, np.nan)
        known[evaluation.sampled_hours()] = week[evaluation.sampled_hours()]
        off.append((np.nanmean(known) - week.mean()) / evaluation.error_of_mean(known))
    assert np.mean(np.abs(off) < 2.4) > 0.9  # the 95 % quantile of t with seven degrees of freedom
