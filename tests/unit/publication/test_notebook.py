"""The notebook for planners: it runs on published files and gives the answers that they hold."""

import geopandas as gpd
import numpy as np
import pytest
from documented import documented, notebook_cells, run_notebook
from planned_weeks import EARLIER, EVENT, IDS, LATER, MIDDLES, weeks, written_for_notebooks

from density_assets.publication.sums import compass

CELL, HOUR = EVENT
NIGHT = np.arange(140, 148)  # Saturday 20:00 to Sunday 04:00


@pytest.fixture(scope="module")
def answers(tmp_path_factory) -> dict:
    """Of two weeks that are planned, with an event."""
    folder = tmp_path_factory.mktemp("release")
    written_for_notebooks(folder)
    return run_notebook(folder, folder)


def test_the_newest_two_weeks_are_read_each_by_its_last_revision(answers):
    assert (answers["earlier"], answers["later"]) == (f"{EARLIER}", f"{LATER}_r2")


def test_a_folder_without_a_release_is_said_to_be_one(tmp_path):
    with pytest.raises(FileNotFoundError, match="set RELEASE to its folder"):
        run_notebook(tmp_path, tmp_path)


def test_the_busiest_cells_of_the_night_have_their_intervals(answers):
    week, night = weeks()[LATER], answers["night"]
    sums = dict(zip(IDS, week.counts[:, NIGHT].sum(axis=1).tolist(), strict=True))
    assert night.visits.to_dict() == dict(sorted(sums.items(), key=lambda pair: -pair[1])[:10])
    of_night = np.isin(np.arange(168), NIGHT).astype(float)[:, None]
    margins = dict(zip(IDS, week.margins(np.eye(len(IDS)), of_night)[:, 0], strict=True))
    assert np.allclose((night.high - night.low) / 2, [margins[cell] for cell in night.index], atol=1)


def test_weeks_differ_where_there_was_an_event_and_only_that_is_real(answers):
    assert answers["beyond"].index.tolist() == [IDS[CELL]]
    assert answers["events"][["cell_id", "hour"]].to_numpy().tolist() == [[IDS[CELL], HOUR]]
    errors = weeks()[LATER].errors[CELL, HOUR]
    change = weeks()[LATER].counts[EVENT] - weeks()[EARLIER].counts[EVENT]
    assert answers["events"].score[0] == pytest.approx(change / (np.sqrt(2) * errors))


def test_the_curve_of_a_district_has_the_interval_of_its_sum(answers):
    part, week = compass(MIDDLES)["north-west"], weeks()[LATER]
    assert sorted(answers["district"].index) == sorted(np.array(IDS)[part])
    assert answers["curve"].tolist() == week.counts[part].sum(axis=0).tolist()
    assert np.allclose(answers["reach"], week.margins(part.astype(float)[None], np.eye(168))[0], rtol=1e-3)
    assert answers["in_week"] == week.counts[part].sum()


def test_the_layer_for_qgis_has_a_row_for_every_cell(answers):
    layer = gpd.read_file(answers["output"]).set_index("cell_id")
    week, before = weeks()[LATER], weeks()[EARLIER]
    assert layer.visits.loc[IDS].tolist() == week.counts[:, NIGHT].sum(axis=1).tolist()
    assert layer.change.loc[IDS].tolist() == (week.counts - before.counts)[:, NIGHT].sum(axis=1).tolist()
    assert np.allclose(layer.visits_per_km2 / layer.visits, 1, rtol=0.01)  # cells of 1 km²


def test_its_formula_is_that_of_the_documentation():
    block = documented("errors-of-sums.md", "python")[0]
    assert notebook_cells()[1] == block[block.index("def standard_error") :].strip()
