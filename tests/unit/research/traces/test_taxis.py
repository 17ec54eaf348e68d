"""Traces of taxis on a grid of 500 m and 30 minutes: one cell per (id, stamp), and bad lines left out."""

from datetime import date

import numpy as np
import pytest

from density_assets.errors import BadInput
from density_assets.research.traces.taxis import BEIJING, STAMPS, grid_over, read_traces

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
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "1.txt").write_text(ONE)
    (tmp_path / "2.txt").write_text(BAD)
    return tmp_path


def test_the_last_position_of_a_half_hour_counts_and_gaps_are_filled(folder):
    traces = read_traces(folder)
    assert traces.days == (date(2008, 2, 2), date(2008, 2, 3))
    assert traces.cells.shape == (2, 2, STAMPS)
    where = grid_over(BEIJING)
    later, north = where.cell(116.42, 39.90), where.cell(116.40, 39.92)
    assert traces.cells[0, 0, 16] == later  # 08:00, seen twice
    assert (traces.cells[0, 0, :16] == later).all()  # before the first position
    assert (traces.cells[0, 0, 16:19] == later).all()
    assert (traces.cells[0, 0, 19:] == north).all()  # from 09:30 on
    assert (traces.cells[1, 1] == -1).all()  # the second taxi was not out on the second day


def test_lines_that_cannot_be_used_are_counted(folder):
    assert read_traces(folder).left_out == 5
    assert read_traces(folder / "1.txt").left_out == 0


def test_cells_are_500_metres_wide(folder):
    where = grid_over(BEIJING)
    assert 6_000 < where.columns * where.rows < 10_000
    start = where.cell(116.4, 39.9)
    assert where.cell(116.4, 39.9 + 500 / 111_320) == start + where.columns
    centre = read_traces(folder).xy[start]
    position = np.array([(116.4 - where.west) * where.metres[0], (39.9 - where.south) * where.metres[1]])
    assert (np.abs(centre - position) <= 250).all()


def test_files_without_positions_are_refused(tmp_path):
    with pytest.raises(BadInput, match="does not exist"):
        read_traces(tmp_path / "nothing")
    (tmp_path / "empty.txt").write_text("1,2008-02-02 08:05:00,0,0\n")
    with pytest.raises(BadInput, match="found none"):
        read_traces(tmp_path)
