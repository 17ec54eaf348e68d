"""Finding the files of a week and the columns in them."""

from collections import Counter
from datetime import date
from pathlib import Path

import duckdb
import polars as pl
import pytest

from density_assets.errors import BadInput
from density_assets.records.event_files import open_records
from density_assets.records.files import is_complete, record_files
from density_assets.settings import Settings
from density_assets.settings.city import CitySettings

WEEK = date(2007, 9, 10)
COLUMNS = {"visit_user": "user_id", "visit_time": "time", "visit_tower": "tower_id"}


def read(*files: Path, **settings: object) -> duckdb.DuckDBPyRelation:
    city = CitySettings.model_construct(**{**COLUMNS, **settings})
    return open_records(duckdb.connect(), list(files), Counter(), city)


def of(pattern: str, folder: Path, **city: str) -> Settings:
    return Settings.model_construct(city=CitySettings.model_construct(visits=pattern, **city), folder=folder)


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def test_a_pattern_names_the_files_of_its_week_only(tmp_path):
    touch(tmp_path, "v/2007-09-10/b.csv", "v/2007-09-10/a.csv", "v/2007-09-10/_SUCCESS", "v/2007-09-17/a.csv")
    found = record_files(of("v/{week}/*", tmp_path), WEEK)
    assert [file.name for file in found] == ["a.csv", "b.csv"]
    assert is_complete(of("v/{week}/*", tmp_path), WEEK)
    assert not is_complete(of("v/{week}/*", tmp_path), date(2007, 9, 17))


def test_no_files_is_an_error_unless_the_empty_week_is_complete(tmp_path):
    with pytest.raises(BadInput, match=r"the week of 2007-09-10 must have visit files; found none at .*v/2007-09-10"):
        record_files(of("v/{week}/*.csv", tmp_path), WEEK)
    touch(tmp_path, "v/2007-09-10/_SUCCESS")
    assert record_files(of("v/{week}/*.csv", tmp_path), WEEK) == []


def written(tmp_path: Path, **columns: list) -> Path:
    file = tmp_path / "r.parquet"
    pl.DataFrame(columns).write_parquet(file)
    return file


def test_wrong_column_names_are_named_with_the_nearest(tmp_path):
    file = written(tmp_path, userid=[1], time=["x"], tower_id=[1])
    with pytest.raises(
        BadInput, match=r"r.parquet: city.visit_user must name a column of the file, 'user_id' is none of its columns$"
    ):
        read(file)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"user_id": [True], "time": ["x"], "tower_id": [1]}, "user identifiers must be integers or text"),
        (
            {"user_id": pl.Series([1.5], dtype=pl.Float32), "time": ["x"], "tower_id": [1]},
            "FLOAT, which keeps seven digits",
        ),
        (
            {"user_id": [1], "time": [True], "tower_id": [1]},
            "times must be timestamps, .* column 'time' of .* is BOOLEAN",
        ),
    ],
)
def test_columns_of_a_type_that_cannot_be_read(tmp_path, columns, words):
    with pytest.raises(BadInput, match=words):
        read(written(tmp_path, **columns))


def test_files_of_two_kinds_are_refused(tmp_path):
    touch(tmp_path, "a.csv", "b.parquet", "c.xlsx")
    with pytest.raises(BadInput, match="must all be of one format, got csv and parquet"):
        read(tmp_path / "a.csv", tmp_path / "b.parquet")
    with pytest.raises(BadInput, match=r"got c.xlsx"):
        read(tmp_path / "c.xlsx")


def csv(tmp_path: Path, name: str, text: str) -> Path:
    (tmp_path / name).write_text(text)
    return tmp_path / name


def test_csv_without_the_column_quotes_nothing_of_the_file(tmp_path):
    """Without a header the first line is somebody's record."""
    file = csv(tmp_path, "r.csv", "secretuser,2007-09-10 08:00:00,A\n")
    with pytest.raises(
        BadInput, match=r"city.visit_user must name a column of the file, 'user_id' is not in"
    ) as caught:
        read(file)
    assert "secretuser" not in str(caught.value)


def test_every_csv_file_has_its_own_columns_and_delimiter(tmp_path):
    files = [
        csv(tmp_path, "a.csv", "user_id,time,tower_id\nann,2007-09-10 08:00:00,A\n"),
        csv(tmp_path, "b.csv", "more;tower_id;user_id;time\nx;B;bob;2007-09-10 08:00:00\n"),
    ]
    assert {(row[0], row[3]) for row in read(*files).fetchall()} == {("ann", "A"), ("bob", "B")}


def test_a_first_line_that_cannot_name_the_columns_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"d\.csv: city\.visit_user must .* 'user_id' is named more than once in line 1"):
        read(csv(tmp_path, "d.csv", "user_id,time,tower_id,user_id\n"))
    with pytest.raises(BadInput, match=r"c\.csv is empty"):
        read(csv(tmp_path, "c.csv", ""))


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_read_off_the_first_line(tmp_path, delimiter):
    text = "\n".join(delimiter.join(row) for row in (["tower_id", "user_id", "time"], ["A", '"ann"', "2007-09-10"]))
    records = read(csv(tmp_path, "r.csv", text + "\n"))
    assert records.fetchall()[0][0] == "ann"


def test_whole_numbers_stored_as_floats_and_large_identifiers(tmp_path):
    frame = pl.DataFrame({"user_id": pl.Series([2**63 + 5], dtype=pl.UInt64), "time": [0], "tower_id": [12.0]})
    frame.write_parquet(tmp_path / "r.parquet")
    row = read(tmp_path / "r.parquet").fetchall()[0]
    assert (row[0], row[3]) == (str(2**63 + 5), "12")


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("1211213400", 1211213400),
        ("1211213400.0", 1211213400),
        ("1211213400.75", 1211213400.75),
        ("1211213400000", 1211213400),
        ("1211213400000.0", 1211213400),
        ("1.2112134e9", 1211213400),
        ("1e300", None),
        ("inf", None),
        ("nan", None),
        ("12", None),
    ],
)
def test_numbers_in_text_are_seconds_or_milliseconds_by_their_size(tmp_path, text, moment):
    file = csv(tmp_path, "r.csv", f"user_id,time,tower_id\nann,{text},A\n")
    assert read(file).fetchall()[0][1:3] == (moment, None)


def test_a_column_name_is_a_name_and_never_sql(tmp_path):
    odd = 'x", 1 as "y'
    file = written(tmp_path, **{odd: ["ann"], "time": ["2007-09-10 08:00:00"], "tower_id": ["A"]})
    records = read(file, visit_user=odd)
    assert [row[0] for row in records.fetchall()] == ["ann"]
