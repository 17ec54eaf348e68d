"""Evaluation compares with the truth: right on a week that can be checked, and confidential on real people."""

import json

import duckdb
import numpy as np
import polars as pl
import pytest
from runs import MONDAY, WEEK, materialise, shown

from density_assets import series
from density_assets.geography.tables import cells_from
from density_assets.research.metrics.earth_movers import emd_per_hour
from density_assets.research.metrics.relative_error import mre, mre_per_hour
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


def test_errors_of_real_people_stay_in_the_confidential_folder(town, tmp_path):
    result = materialise(town.settings, tmp_path)
    assert set(shown(result, "evaluation_metrics").metadata) == {
        "dagster/column_schema",
        "dagster/column_lineage",
        "details",
    }
    about = tmp_path / "town/confidential/about/evaluation_metrics"
    by_hour = {f"{metric}_{by}" for metric in ("mre", "emd") for by in ("per_hour", "by_hour_of_day")}
    found = json.loads((about / f"{WEEK}.json").read_text())
    assert set(found) == {"rows", "mre", "pc", "emd"} | by_hour
    assert None in found["emd_per_hour"]  # hours in which one map alone is empty
    assert (about / f"{WEEK}_map_of_mre.png").exists()
    assert not list((tmp_path / "town/release").glob("*evaluation*"))
