"""Overlaps of tower cells and cells, and Formula 1 as a matrix."""

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from density_assets.geography.overlaps import SLIVER_M2, interpolation, overlaps, tower_cells

# Two towers side by side over three cells: tower 0 has 3/4 of its cell in cell 0 and 1/4 in cell 1.
TOWERS = np.array([shapely.box(0, 0, 200, 100), shapely.box(200, 0, 400, 100)])
CELLS = np.array([shapely.box(0, 0, 150, 100), shapely.box(150, 0, 250, 100), shapely.box(250, 0, 400, 100)])

# Towers 10 m apart: closer ones could have a cell of slivers only.
tens = st.integers(0, 10).map(lambda n: 10 * n)


def test_pieces_are_sorted_by_tower_then_cell_with_their_areas():
    pieces = overlaps(TOWERS, CELLS)
    assert pieces.tower.tolist() == [0, 0, 1, 1]
    assert pieces.cell.tolist() == [0, 1, 1, 2]
    assert pieces.area.tolist() == [15_000, 5_000, 5_000, 15_000]
    assert (pieces.towers, pieces.cells, len(pieces)) == (2, 3, 4)
    assert (pieces.tower.dtype, pieces.cell.dtype, pieces.area.dtype) == (np.int32, np.int32, np.float64)


def test_order_does_not_depend_on_the_order_of_the_polygons():
    pieces = overlaps(TOWERS[::-1], CELLS[::-1])
    assert list(zip(pieces.tower.tolist(), pieces.cell.tolist(), strict=True)) == [
        (0, 0),
        (0, 1),
        (1, 1),
        (1, 2),
    ]


def test_cell_series_are_the_shares_of_the_tower_series():
    hours = np.array([[100.0, 0.0, 8.0], [0.0, 40.0, 4.0]])
    expected = [[75, 0, 6], [25, 10, 3], [0, 30, 3]]
    assert (interpolation(overlaps(TOWERS, CELLS)) @ hours).tolist() == expected


def test_a_sliver_is_dropped_and_its_share_goes_to_the_pieces_that_stay():
    # Tower 0 overlaps cell 1 by 128 m x 1/128 m: 1 m² exactly, which is not more than the limit.
    border = 100 - 1 / 128
    cells = np.array([shapely.box(0, 0, border, 128), shapely.box(border, 0, 200, 128)])
    towers = np.array([shapely.box(0, 0, 100, 128), shapely.box(100, 0, 200, 128)])
    pieces = overlaps(towers, cells)
    assert SLIVER_M2 == 1.0
    assert list(zip(pieces.tower.tolist(), pieces.cell.tolist(), strict=True)) == [(0, 0), (1, 1)]
    assert pieces.share.tolist() == [1.0, 1.0]


def test_a_cell_without_a_piece_is_a_row_of_zeros():
    alone = np.append(CELLS, shapely.box(900, 900, 901, 901))
    W = interpolation(overlaps(TOWERS, alone))
    assert W.shape == (4, 2)
    assert W.toarray()[3].tolist() == [0, 0]


def test_towers_that_overlap_no_cell_are_named():
    far = [shapely.box(1000 + 2 * i, 0, 1001 + 2 * i, 1) for i in range(6)]
    with pytest.raises(ValueError, match=r"got 6 of 8 .* \(positions 2, 3, 4, 5, 6, \.\.\.\)"):
        overlaps(np.append(TOWERS, far), CELLS)


@settings(deadline=None, max_examples=40)
@given(
    towers=st.lists(st.tuples(tens, tens), min_size=1, max_size=10, unique=True),
    cuts=st.lists(st.integers(5, 95), max_size=5, unique=True),
)
def test_interpolation_keeps_the_total_and_agrees_with_areas(towers, cuts):
    edges = [0, *sorted(cuts), 100]
    cells = shapely.box(edges[:-1], 0, edges[1:], 100)
    tower_polygons = tower_cells(np.array(towers, dtype=float), shapely.box(0, 0, 100, 100))
    W = interpolation(overlaps(tower_polygons, cells)).toarray()
    assert W.sum(axis=0) == pytest.approx(1, abs=1e-12)
    pairwise = shapely.area(shapely.intersection(tower_polygons[None, :], cells[:, None]))
    pairwise[pairwise <= SLIVER_M2] = 0
    assert pytest.approx(pairwise / pairwise.sum(axis=0), abs=1e-12) == W
