"""Deliberately bad releases: each is named."""

import io
import json

import polars as pl
import pytest

from density_assets.quality.released import disagreements, doubts_about_visits, faults_of_counts

CELLS = pl.Series("cell_id", ["N", "S"])


def counts(first: int | float | None = 0) -> pl.DataFrame:
    return pl.DataFrame(
        {"cell_id": ["N"] * 168 + ["S"] * 168, "hour": [*range(168)] * 2, "count": [first, *range(335)]}
    )


def test_sound_counts_have_no_fault():
    assert list(faults_of_counts(counts(), CELLS)) == []


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (counts(-1), "counts must not be negative or empty"),
        (counts(None), "counts must not be negative or empty"),
        (counts(0.5), "counts must be integers, got Float64"),
        (counts()[1:], "one row for each of 2 cells and 168 hours, got 335 rows"),
        (pl.concat([counts()[1:], counts()[-1:]]), "one row for each of 2 cells"),
        (counts().with_columns(cell_id=pl.lit("N")), "one row for each of 2 cells"),
    ],
)
def test_bad_counts_are_named(table, words):
    assert any(words in fault for fault in faults_of_counts(table, CELLS))


@pytest.fixture
def files() -> dict[str, bytes]:
    parquet = io.BytesIO()
    counts().write_parquet(parquet)
    by_cell = {cell: counts().filter(cell_id=cell)["count"].to_list() for cell in CELLS}
    features = [{"properties": {"cell_id": cell, "counts": values}} for cell, values in by_cell.items()]
    return {
        "density.parquet": parquet.getvalue(),
        "density.csv": counts().write_csv().encode(),
        "density.geojson": json.dumps({"features": features}).encode(),
    }


def test_files_of_one_release_agree(files):
    assert disagreements(files) == {}


def test_files_that_differ_or_do_not_open_are_named(files):
    files["density.csv"] = files["density.csv"].replace(b"S,167,334", b"S,167,333")
    assert list(disagreements(files).values()) == ["density.csv holds other counts than density.parquet"]
    files["density.geojson"] = b"{"
    assert disagreements(files)["density.geojson"] == "density.geojson cannot be read: JSONDecodeError"
    files["density.parquet"] = b"PAR1"
    assert disagreements(files).keys() == {"density.parquet"}


def test_visits_are_doubted_that_noise_may_have_made_or_scaled():
    assert list(doubts_about_visits(27_000_000, 9_000_000.0, 52_901.0)) == []
    assert list(doubts_about_visits(100, 50.0, 0.0)) == []  # a scheme that does not measure the total
    (below,) = doubts_about_visits(100, 100.0, 0.0)
    assert "cannot be told from noise" in below
    (scaled,) = doubts_about_visits(24_339, 20_000.0, 52_901.0)
    assert "24,339 visits, measured with a standard error of 52,901 (the ± of pages is of 95 %" in scaled
