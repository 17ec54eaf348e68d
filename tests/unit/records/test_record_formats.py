"""Every format of records is told by its name, read, described, and looked through for damage."""

from collections import Counter
from pathlib import Path

import duckdb
import polars as pl
import pytest

from density_assets.errors import BadInput
from density_assets.records.description import describe
from density_assets.records.formats import FORMATS, format_of, open_files, unreadable
from density_assets.settings.city import CitySettings

ROWS = pl.DataFrame({"user_id": ["a", "b"], "time": ["2007-09-10 08:00:00"] * 2, "tower_id": ["T1", "T2"]})
WRITERS = {  # of each format: a file with these rows
    "parquet": ("events.parquet", lambda file: ROWS.write_parquet(file)),
    "csv": ("events.csv", lambda file: ROWS.write_csv(file)),
}
COLUMNS = {"city.visit_user": "user_id", "city.visit_time": "time", "city.visit_tower": "tower_id"}


@pytest.fixture(params=FORMATS, ids=lambda kind: kind.name)
def file(request, tmp_path) -> Path:
    name, write = WRITERS[request.param.name]
    write(tmp_path / name)
    assert format_of(tmp_path / name) is request.param
    return tmp_path / name


def test_wanted_columns_are_read(file):
    rejected: Counter[str] = Counter()
    with duckdb.connect() as connection:
        (rows,) = open_files(connection, [file], COLUMNS, rejected)
        assert sorted(rows.fetchall()) == sorted(ROWS.rows())
    assert not rejected


def test_first_records_are_described(file):
    found = describe(file, CitySettings.model_construct())
    assert (found.kind, found.sampled, found.unreadable) == (format_of(file).name, 2, 0)
    assert found.roles == {"user": "user_id", "time": "time", "tower": "tower_id"}
    assert found.times == {"without a zone": 2}


def test_a_damaged_file_is_named_and_a_whole_one_is_not(file):
    assert file.name not in str(unreadable([file], OSError()))
    file.unlink()
    assert file.name in str(unreadable([file], OSError()))


def test_a_file_of_no_format_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"got events\.xlsx"):
        format_of(tmp_path / "events.xlsx")
