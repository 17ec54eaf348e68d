"""GPS points by day and stamp: one cell per user and stamp, bad lines left out by reason, and Beijing by default."""

from datetime import date

import numpy as np
import pytest

from density_assets.errors import BadInput
from density_assets.research.traces.readers import read_days
from density_assets.research.traces.recipe import BEIJING, Recipe, read_recipe
from density_assets.research.traces.trace_records import grid_centres

ONE = """1,2008-02-02 08:05:00,116.40000,39.90000
1,2008-02-02 08:25:00,116.42000,39.90000
1,2008-02-02 09:31:00,116.40000,39.92000
1,2008-02-03 00:00:10,116.40000,39.90000
"""
BAD = """2,2008-02-02 08:10:00,116.40000,39.90000
2,not a time,116.4,39.9
2,2008-02-02 08:10:00,east,39.9
2,2008-02-02 08:10:00,116.4
2,2008-02-02 08:40:00,0.00000,0.00000

2,2008-02-02 08:10:00,116.4,39.9,extra
2,2007-02-02 08:10:00,116.4,39.9
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "1.txt").write_text(ONE)
    (tmp_path / "2.txt").write_text(BAD)
    return tmp_path


def read(data):
    return read_days(data, read_recipe(data, gps=BEIJING))


def cell(lon, lat):
    """The nearest centre, which for equal cells is the cell itself."""
    recipe = Recipe(**BEIJING)
    x = (lon - recipe.west) / (recipe.east - recipe.west) * recipe.columns
    y = (lat - recipe.south) / (recipe.north - recipe.south) * recipe.rows
    return int(y) * recipe.columns + int(x)


def test_the_last_position_of_a_half_hour_counts_and_gaps_are_filled(folder):
    found = read(folder)
    assert found.days == (date(2008, 2, 2), date(2008, 2, 3))
    assert found.cells.shape == (2, 2, 48)
    later, north = cell(116.42, 39.90), cell(116.40, 39.92)
    assert found.cells[0, 0, 16] == later  # 08:00, seen twice
    assert (found.cells[0, 0, :16] == later).all()  # before the first position
    assert (found.cells[0, 0, 16:19] == later).all()
    assert (found.cells[0, 0, 19:] == north).all()  # from 09:30 on
    assert (found.cells[1, 1] == -1).all()  # the second taxi was not out on the second day


def test_the_order_of_lines_does_not_matter(folder):
    (folder / "1.txt").write_text("\n".join(reversed(ONE.splitlines())))
    assert read(folder).cells[0, 0, 16] == cell(116.42, 39.90)


def test_lines_that_cannot_be_used_are_counted_by_reason(folder):
    tally = read(folder).tally
    assert tally.left_out == {"outside the box": 1, "outside the weeks": 1, "unreadable": 4}
    assert (tally.records, tally.used, tally.users) == (11, 5, 2)
    assert read(folder / "1.txt").tally.left_out == {}


def test_cells_are_500_metres_wide_and_cover_the_box(folder):
    centres = read(folder).xy
    recipe = Recipe(**BEIJING)
    by_row = centres.reshape(recipe.rows, recipe.columns, 2)
    assert np.diff(by_row[:, :, 1], axis=0) == pytest.approx(500, rel=0.005)
    assert np.diff(by_row[:, :, 0], axis=1) == pytest.approx(500, rel=0.005)
    assert np.array_equal(centres, 1_000 * grid_centres(recipe))


def test_a_moment_of_utc_lies_on_the_clocks_of_the_recipe(tmp_path):
    (tmp_path / "1.csv").write_text("id,time,lat,lon\n1,2008-02-02T16:10:00Z,39.9,116.4\n")  # 00:10 on 3 February
    found = read(tmp_path)
    assert found.days == (date(2008, 2, 3),)
    (tmp_path / "traces.toml").write_text("utc_offset = 0\nminutes = 60\n")
    found = read(tmp_path)
    assert (found.days, found.cells.shape) == ((date(2008, 2, 2),), (1, 1, 24))


def test_files_without_positions_are_refused(tmp_path):
    with pytest.raises(BadInput, match="is not there"):
        read(tmp_path / "nothing")
    (tmp_path / "empty.txt").write_text("1,2008-02-02 08:05:00,0,0\n")
    with pytest.raises(BadInput, match="no record lies in the box and the 2 weeks from 2008-01-28"):
        read(tmp_path)
    (tmp_path / "traces.toml").write_text("minutes = 7\n")
    with pytest.raises(BadInput, match="minutes"):
        read(tmp_path)
