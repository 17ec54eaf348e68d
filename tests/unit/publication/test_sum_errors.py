"""Errors of sums as a table and as a page gets them: nothing is lost, and what the documentation says of it works."""

import base64
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from documented import DOCS, documented
from planned_weeks import periods
from scipy.sparse import csr_array

from density_assets.estimation.weeks.summary import Kind, Summary
from density_assets.publication.sum_errors import (
    MEANING,
    MOST_CELLS,
    SCHEMA,
    errors_table,
    packed_sums,
    summary_from,
)

CELLS, HOURS = 6, 168
IDS = pl.Series("cell_id", [f"cell {number}" for number in range(CELLS)])


@pytest.fixture(scope="module")
def summary() -> Summary:
    random = np.random.default_rng(3)
    sparse = np.zeros((CELLS, 2))
    sparse[[1, 2], [0, 1]] = 3.0, -2.0
    kinds = (
        Kind("places", csr_array(random.normal(size=(CELLS, 3))), random.normal(size=(HOURS, 4))),
        Kind("places", csr_array(random.normal(size=(CELLS, 2))), np.tril(random.normal(size=(HOURS, HOURS)))),
        Kind("stretch", csr_array(sparse), np.eye(HOURS)[:, [7]]),
    )
    return Summary(kinds, 0.02 * random.normal(size=(HOURS, 2)))


@pytest.fixture(scope="module")
def density() -> pl.DataFrame:
    random = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "cell_id": np.repeat(IDS.to_numpy(), HOURS).tolist(),
            "hour": np.tile(np.arange(HOURS), CELLS),
            "count": random.integers(0, 200, CELLS * HOURS),
            "standard_error": random.uniform(0.0, 30.0, CELLS * HOURS).round(3),
        }
    )


def exact(summary: Summary, density: pl.DataFrame, areas: np.ndarray, hours: np.ndarray) -> np.ndarray:
    visits, error = (density[name].to_numpy().reshape(CELLS, HOURS) for name in ("count", "standard_error"))
    return np.sqrt(summary.variance(visits, error, np.atleast_2d(areas), hours.reshape(HOURS, -1)))


def test_the_table_says_all_that_the_summary_says(summary, density):
    table = errors_table(summary, IDS)
    assert table.schema == SCHEMA
    assert table.select(pl.col("cell_id").is_null() != pl.col("hour").is_null()).to_series().all()
    again = summary_from(table, IDS)
    assert [kind.name for kind in again.kinds] == ["places", "places", "stretch"]
    sums = np.random.default_rng(6).normal(size=(5, CELLS)), np.random.default_rng(7).normal(size=(HOURS, 4))
    assert exact(again, density, *sums) == pytest.approx(exact(summary, density, *sums), rel=1e-3)


def test_a_cell_and_hour_by_itself_has_its_published_error_where_patterns_leave_room(summary, density):
    visits, error = (density[name].to_numpy().reshape(CELLS, HOURS) for name in ("count", "standard_error"))
    alone = exact(summary, density, np.eye(CELLS), np.eye(HOURS))
    room = summary.own(visits, error) > 0
    assert room.any()
    assert not room.all()
    assert alone[room] == pytest.approx(error[room])
    assert (alone[~room] >= error[~room]).all()


def test_the_table_does_not_depend_on_signs(summary):
    """Which of a pattern and its negative is found depends on the machine."""
    other = tuple(replace(kind, cells=-kind.cells, hours=-kind.hours) for kind in summary.kinds)
    assert errors_table(summary, IDS).equals(errors_table(Summary(other, -summary.city), IDS))


@pytest.fixture
def files(summary, density, tmp_path, monkeypatch) -> pl.DataFrame:
    """A folder with the files of a week, in which the documentation's lines run."""
    table = errors_table(summary, IDS)
    monkeypatch.chdir(tmp_path)
    density.write_parquet("density_2007-09-10.parquet")
    table.write_parquet("errors_of_sums_2007-09-10.parquet")
    return table


def test_the_documented_python_works(files, summary, density):
    words: dict = {}
    for block in documented("errors-of-sums.md", "python"):
        exec(block, words)
    tuesday = (np.arange(HOURS) // 24 == 1).astype(float)
    three = np.array([1.0, 1, 1, 0, 0, 0])
    assert words["three_cells"] == pytest.approx(exact(summary, density, three, tuesday).item(), rel=1e-3)
    whole = exact(summary, density, np.ones(CELLS), np.ones(HOURS))
    assert words["whole_city"] == pytest.approx(whole.item(), rel=1e-3)
    tables, pandas = (words["density"], words["errors"]), words["pd"]
    cell, hour = pandas.Series([1.0], index=["cell 5"]), np.eye(HOURS)[100]  # the stretch is not there
    one = exact(summary, density, np.eye(CELLS)[5], hour)
    assert words["standard_error"](cell, hour, *tables) == pytest.approx(one.item(), rel=1e-3)
    less = pandas.Series([1.0, -0.5], index=["cell 4", "cell 0"])  # not in the order of the file
    difference = exact(summary, density, np.array([-0.5, 0, 0, 0, 1, 0]), tuesday)
    assert words["standard_error"](less, tuesday, *tables) == pytest.approx(difference.item(), rel=1e-3)


def test_the_documentation_describes_the_columns_as_the_dictionary_does():
    page = (DOCS / "errors-of-sums.md").read_text(encoding="utf-8")
    assert list(MEANING) == SCHEMA.names()
    for name, meaning in MEANING.items():
        assert f"| `{name}` | {meaning} |" in page


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_the_documented_r_works(files, summary, density, tmp_path):
    density.write_csv("density.csv")
    files.write_csv("errors.csv")
    (script,) = documented("errors-of-sums.md", "r")
    parquet = r'nanoparquet::read_parquet\("(density|errors)[^"]*"\)'
    script = re.sub(parquet, r'read.csv("\1.csv", na.strings = "")', script)
    script += """
a <- c("cell 4" = 1, "cell 0" = -0.5)
cat(standard_error(a, as.numeric(0:167 %/% 24 == 1), density, errors), "\n")
cat(standard_error(c("cell 5" = 1), as.numeric(0:167 == 100), density, errors), "\n")
"""
    Path("said.R").write_text(script)
    said = subprocess.run(["Rscript", "said.R"], capture_output=True, text=True, check=True).stdout.split()
    tuesday = (np.arange(HOURS) // 24 == 1).astype(float)
    difference = exact(summary, density, np.array([-0.5, 0, 0, 0, 1, 0]), tuesday)
    one = exact(summary, density, np.eye(CELLS)[5], np.eye(HOURS)[100])
    assert [float(number) for number in said] == pytest.approx([difference.item(), one.item()], rel=1e-3)


EVERY = np.ones(HOURS, bool)


def unpacked_numbers(text: str, kind: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), kind)


def along_cells(kind: dict, chosen: list[int]) -> float:
    """The square of what the patterns of a kind say of some cells together."""
    pattern = np.repeat(np.arange(len(kind["counts"])), kind["counts"])
    values = unpacked_numbers(kind["values"], "<i2") * np.array(kind["scales"])[pattern]
    inside = np.isin(unpacked_numbers(kind["cells"], "<u2"), chosen)
    return float((np.bincount(pattern[inside], values[inside]) ** 2).sum())


def test_patterns_come_back_as_they_were():
    random = np.random.default_rng(3)
    dense = random.normal(size=(9, 4)) * [1, 1e-3, 1e3, 0]
    sparse = csr_array(np.diag(random.normal(size=9)))
    places = Kind("places", csr_array(dense), random.normal(size=(HOURS, 3)))
    kinds = (places, Kind("towers", sparse, np.ones((HOURS, 1))))
    city = random.normal(size=(HOURS, 5))
    packed = packed_sums(Summary(kinds, city), EVERY)
    assert np.allclose(unpacked_numbers(packed["city"], "<f4").reshape(HOURS, packed["width"]), city, rtol=1e-6)
    for kind, of_page in zip(kinds, packed["kinds"], strict=True):
        chosen = [1, 2, 7]
        areas = np.isin(np.arange(9), chosen).astype(float)[None]
        expected = kind.variance(areas, periods())[0]
        assert np.allclose(along_cells(of_page, chosen) * np.array(of_page["hours"]), expected, rtol=1e-3)


def test_days_and_the_week_leave_out_what_does_not_happen():
    """With a pattern that is one everywhere the squares are those of unpacked_numbers of hours."""
    kind = Kind("places", csr_array(np.ones((2, 1))), np.ones((HOURS, 1)))
    packed = packed_sums(Summary((kind,), np.zeros((HOURS, 1))), np.arange(HOURS) != 146)
    assert packed["kinds"][0]["hours"] == [1] * HOURS + [24**2] * 6 + [23**2, 167**2]


def test_more_cells_than_can_be_numbered_are_not_packed():
    kind = Kind("places", csr_array((MOST_CELLS + 1, 1)), np.ones((HOURS, 1)))
    assert packed_sums(Summary((kind,), np.zeros((HOURS, 1))), EVERY) is None
