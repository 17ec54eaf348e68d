"""What `check` says of records that are odd: how many and why, never which."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from runs import MONDAY

from density_assets.cli.inspection import inspect
from density_assets.errors import BadInput
from density_assets.settings import Settings, load_settings


def lines(town, tmp_path) -> list[str]:
    said, _ = inspect(load_settings(town.settings), MONDAY, tmp_path / "home")
    return [" ".join(line.split()) for line in said.splitlines()]


def test_lines_that_are_no_text_and_times_no_calendar_has(town, tmp_path):
    town.write_visits(
        "ann,2007-09-10 08:10:00,A\nbob,2007-09-12 20:00:00,D\nbob,99999-01-01 00:00:00,D\nbob,2007-09-20 00:00:00,D\n"
    )
    with (town.visits / "part-0.csv").open("ab") as file:
        file.write(b"\xff,2007-09-12 20:00:00,D\n" + b"x" * 2_100_000 + b",2007-09-12 20:00:00,D\n")
    said = lines(town, tmp_path)
    assert {"records 6", "2 usable", "2 outside the week", "2 line not readable"} <= set(said)
    assert said[-1] == "span 2007-09-10 08h to 2007-09-20 00h"


def test_regions_and_factors_are_looked_at_before_anything_runs(town, tmp_path):
    assert "people no factors in [people]: counts are visits of devices" in lines(town, tmp_path)
    (town.folder / "regions.csv").write_text("cell_id,region_id\nSW,S\nSE,S\nNW,N\nNE,N\n")
    town.set('cell_id = "code"', 'cell_id = "code"\nregions = "regions.csv"')
    stated = "[people]\nmarket_share = 0.5\nmarket_share_low = 0.4\ndevices_per_person = 1\nactive_share = 0.5\n"
    town.settings.write_text(town.settings.read_text() + stated)
    said = lines(town, tmp_path)
    assert "regions 2, every cell in one" in said
    assert "people 4.00 behind a visit, on average over cells and hours (4.00 to 5.00 by the bounds)" in said
    (town.folder / "regions.csv").write_text("cell_id,region_id\nSW,S\n")
    with pytest.raises(BadInput, match="3 missing: SE, NW, NE"):
        lines(town, tmp_path)


def test_a_damaged_file_is_refused_without_a_word_of_it(town, tmp_path):
    town.set("*.csv", "*.parquet")
    file = town.visits / "r.parquet"
    pq.write_table(pa.table({"user_id": ["zq7x"] * 99, "time": ["zq7x"] * 99, "tower_id": ["A"] * 99}), file)
    content = file.read_bytes()
    for place in range(4, 200, 7):
        file.write_bytes(content[:place] + b"\xff\xff" + content[place + 2 :])
        try:
            lines(town, tmp_path)
        except BadInput as error:
            assert_silent(error)
    file.write_bytes(content[:-20])
    with pytest.raises(BadInput, match="visit files must be readable"):
        lines(town, tmp_path)


def assert_silent(error: BadInput) -> None:
    assert "zq7x" not in str(error)


def test_a_week_of_which_most_records_cannot_be_used_is_a_finding(town, tmp_path):
    def finding() -> str:
        return inspect(load_settings(town.settings), MONDAY, tmp_path / "home")[1]

    assert finding() == ""
    town.write_visits("ann,2007-09-10 08:10:00,A\nbob,noon,D\n")
    assert finding() == ""  # half of them
    town.write_visits("ann,2007-09-10 08:10:00,A\nbob,noon,D\ncid,noon,D\n")
    assert finding().startswith(
        "most records must be usable, 1 of 3 are (2 time not readable): look at city.visit_time."
    )
    town.write_visits("")
    assert "found none" in finding()


def test_simulated_people_need_no_records(tmp_path):
    assert inspect(Settings(), MONDAY, tmp_path / "home")[1] == ""
