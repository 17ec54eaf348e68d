"""A real release as strangers read it: the notebook, and every line that the documentation tells them to type."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import duckdb
import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
from catalogues import DCAT, checksums, entry_in, harvested
from documented import DOCS, documented, run_notebook
from rdflib import RDF
from runs import WEEK
from weeks import WEEKS, folder_of

from density_assets.settings.people import PublicationSettings

NIGHT = range(5 * 24 + 20, 6 * 24 + 4)  # Saturday 20:00 to Sunday 04:00
R = "Rscript"
needs_r = pytest.mark.skipif(shutil.which(R) is None, reason="R is not installed")


@pytest.fixture(scope="module")
def release(three_weeks) -> Path:
    return folder_of(three_weeks[1])


@pytest.fixture(scope="module")
def answers(release, tmp_path_factory) -> dict:
    """What the notebook leaves behind, with the folder it wrote into."""
    return run_notebook(release, tmp_path_factory.mktemp("answers"))


@pytest.fixture(scope="module")
def weeks(release) -> dict[str, pd.DataFrame]:
    """The counts of each week as text, which the notebook does not read: cells by hours."""
    tables = {week: pd.read_csv(release / f"density_{week}.csv") for week in WEEKS}
    return {week: table.pivot(index="cell_id", columns="hour", values="count") for week, table in tables.items()}


def test_the_notebook_ranks_cells_by_what_was_published(answers, weeks):
    assert (answers["earlier"], answers["later"]) == WEEKS[1:]
    of_night = weeks[WEEKS[2]][list(NIGHT)].sum(axis=1).sort_values(ascending=False)
    assert answers["night"].visits.to_dict() == of_night.to_dict()
    assert (answers["night"].low < answers["night"].visits).all()


def test_the_notebook_compares_the_two_weeks_that_were_published(answers, weeks):
    change = weeks[WEEKS[2]] - weeks[WEEKS[1]]
    assert answers["change"].loc[change.index].equals(change)
    assert answers["scores"].shape == change.shape  # clocks leave out no hour
    assert answers["events"].empty  # nothing happened in this town


def test_the_notebook_finds_a_district_in_a_town_of_four_cells(answers, weeks):
    district = list(answers["district"].index)
    assert district == ["NW"]
    assert answers["curve"].to_list() == weeks[WEEKS[2]].loc["NW"].to_list()
    assert answers["in_week"] == sum(answers["curve"])


def test_the_notebook_tells_the_error_of_a_week_that_was_published(answers, release):
    published = gpd.read_parquet(release / f"cells_{WEEKS[2]}.parquet").set_index("cell_id").standard_error
    of_week = [
        answers["standard_error"](pd.Series([1.0], index=[cell]), np.ones(168), answers["density"], answers["errors"])
        for cell in published.index
    ]
    assert of_week == pytest.approx(published.to_list(), rel=1e-3)


def test_the_notebook_leaves_a_layer_with_a_row_for_every_cell(answers, weeks):
    layer = gpd.read_file(answers["output"]).set_index("cell_id")
    change = (weeks[WEEKS[2]] - weeks[WEEKS[1]])[list(NIGHT)].sum(axis=1)
    assert layer.change.loc[change.index].to_list() == change.to_list()
    assert np.allclose(layer.visits_per_km2 / layer.visits, 1, rtol=0.01)  # cells of 1 km²


def test_the_notebook_answers_of_a_first_week_what_one_week_can(release, weeks, tmp_path):
    for file in release.glob(f"*_{WEEK}.*"):
        shutil.copy(file, tmp_path)
    words = run_notebook(tmp_path, tmp_path)
    assert words["night"].visits.sum() == weeks[WEEK][list(NIGHT)].sum().sum()
    assert (len(words["beyond"]), len(words["events"])) == (0, 0)
    assert words["in_week"] == weeks[WEEK].loc["NW"].sum()


def test_the_documented_python_loads_what_was_published(release, weeks, monkeypatch):
    monkeypatch.chdir(release)
    words: dict = {}
    (block,) = documented("release-files.md", "python")
    exec(block, words)
    at_eight = [20 + 24 * day for day in range(7)]
    assert words["evening"].to_dict() == weeks[WEEK][at_eight].sum(axis=1).to_dict()
    assert words["cells"].set_index("cell_id")["count"].to_dict() == weeks[WEEK].sum(axis=1).to_dict()
    both = words["text"].merge(words["density"], on=["cell_id", "hour"], validate="1:1")
    assert (len(both), both.count_x.equals(both.count_y)) == (4 * 168, True)


def test_the_documented_sql_asks_what_was_published(release, weeks, monkeypatch):
    monkeypatch.chdir(release)
    (block,) = documented("release-files.md", "sql")
    busiest, described = (duckdb.sql(one.query).fetchall() for one in duckdb.extract_statements(block))
    assert dict(busiest) == weeks[WEEK].max(axis=1).to_dict()
    assert {(b"city", b"town"), (b"week", WEEK.encode())} <= {(key, value) for _, key, value in described}


def test_the_registry_and_portals_know_each_week_by_itself(release):
    names = ("privacy_statement_{}.json", "dp_deployment_{}.yaml", "dcat_{}.jsonld")
    epsilons = []
    for week in WEEKS:
        statement, entry, dataset = (release / name.format(week) for name in names)
        said, told = json.loads(statement.read_text()), entry_in(entry)
        parameters = told["deployment"]["privacy_loss"]["privacy_parameters"]
        assert parameters["rho"] == said["cumulative"]["for_a_person"]["week"][0]["rho"]
        assert "the exact privacy curve of its Gaussian noise" in told["deployment"]["accounting"]["composition"]
        assert (release / f"density_{week}.csv").as_uri() in checksums(harvested(dataset))
        epsilons.append(said["cumulative"]["epsilon"])
    assert epsilons == sorted(set(epsilons))  # each week adds to what those before it cost
    together = harvested(*(release / names[2].format(week) for week in WEEKS))
    assert len(set(together.subjects(RDF.type, DCAT.Dataset))) == len(WEEKS)


def test_planners_are_told_how_to_check_a_release(release):
    (command,) = re.findall(r"`python3 -I (verify[^`]+)`", (DOCS / "planners.md").read_text(encoding="utf-8"))
    key = json.loads((release / f"manifest_{WEEK}.json").read_text())["key"]["fingerprint"]
    words = command.replace("WEEK", WEEK).replace("FINGERPRINT", key).split()
    done = subprocess.run([sys.executable, "-I", *words], cwd=release, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1][:9]) == (0, "verified:"), done.stdout + done.stderr


def test_publishers_are_told_every_word_that_catalogues_get():
    (written,) = documented("release-files.md", "toml")
    stated = PublicationSettings.model_validate(tomllib.loads(written)["publication"])
    assert stated.model_fields_set == set(PublicationSettings.model_fields)


def said_by_r(folder: Path, script: str) -> list[float]:
    """The numbers that lines of R write, run in a folder."""
    done = subprocess.run([R, "--vanilla", "-e", script], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [float(number) for number in done.stdout.split()]


@needs_r
def test_the_documented_r_loads_what_was_published(release, weeks):
    if subprocess.run([R, "-e", "library(sf)"], capture_output=True, check=False).returncode:
        pytest.skip("R has no package sf")
    (block,) = documented("release-files.md", "r")
    sums = "cat('\\n', sum(density$count), sum(cells$count), sum(hours$count))"
    assert said_by_r(release, f"sink(stderr())\n{block}\nsink()\n{sums}") == [weeks[WEEK].sum().sum()] * 3
