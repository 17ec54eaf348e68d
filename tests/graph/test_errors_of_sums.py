"""Errors of sums with a release: a file that is stated, signed and explained, and what readers do with it."""

import json
import re
import shutil
from pathlib import Path

import pandas as pd
import polars as pl
import pytest
from documented import documented
from runs import WEEK
from weeks import folder_of

from density_assets.publication.verification import outcome

FILE = f"errors_of_sums_{WEEK}.parquet"


@pytest.fixture
def release(three_weeks) -> Path:
    return folder_of(three_weeks[1])


def test_the_file_is_stated_signed_and_explained(release):
    stated = json.loads((release / f"privacy_statement_{WEEK}.json").read_text())
    signed = json.loads((release / f"manifest_{WEEK}.json").read_text())
    assert stated["files"][FILE] == signed["files"][FILE]["sha256"]
    explained = (release / f"data_dictionary_{WEEK}.md").read_text()
    for column in pl.read_parquet(release / FILE).columns:
        assert f"| `{column}` |" in explained.split("## Errors of sums")[1]
    assert outcome(release / f"manifest_{WEEK}.json").status == 3  # nothing is wrong; who signed was not asked


def test_a_changed_file_does_not_verify(release, tmp_path):
    changed = shutil.copytree(release, tmp_path / "release")
    (changed / FILE).write_bytes((release / FILE).read_bytes()[:-1] + b"?")
    wrong = [text for holds, text in outcome(changed / f"manifest_{WEEK}.json").findings if not holds]
    assert any(FILE in text for text in wrong)


def test_the_page_shows_the_whole_city_as_readers_compute_it(release, monkeypatch):
    monkeypatch.chdir(release)
    words: dict = {}
    for block in documented("errors-of-sums.md", "python"):
        exec(block, words)
    page = (release / f"report_{WEEK}.html").read_text()
    row = page[page.index(">whole city</th>") :].split("</tr>")[0]
    week = row.split("<td")[-1]
    density = pd.read_parquet(f"density_{WEEK}.parquet")
    assert f">{density['count'].sum():,}<" in week
    margin = float(f"{1.96 * words['whole_city']:.2g}")
    assert f">{margin:,.0f}<" in week
    (drawn,) = re.findall(r'id="data">(.*?)</script>', page)
    assert json.loads(drawn)["sums"]["kinds"]  # from which the page tells the error of what a reader chooses
    assert json.loads(drawn)["groups"][0] == ["whole city", list(range(density.cell_id.nunique()))]
    squares = (density.standard_error**2).sum() ** 0.5
    assert words["whole_city"] > 1.2 * squares  # adding squares is not enough
    assert f'href="./{FILE}"' in page
