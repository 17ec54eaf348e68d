"""Series over the cover: nothing lost, nothing counted twice, and the way back is exact."""

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from density_assets.geography.overlaps import Overlaps, interpolation, overlaps, tower_cells
from density_assets.geography.places import Cover, from_cover, minimum_cover, to_cover

# Tower 0 lies over cells 0 (60 m²), 1 (20 m²) and 2 (20 m²); towers 1 and 2 lie in cell 2 alone.
PIECES = Overlaps(
    tower=np.array([0, 0, 0, 1, 2], dtype=np.int32),
    cell=np.array([0, 1, 2, 2, 2], dtype=np.int32),
    area=np.array([60.0, 20.0, 20.0, 50.0, 70.0]),
    towers=3,
    cells=3,
)
COVER = Cover(towers=np.array([0]), cells=np.array([2]))


def cover_of(towers, cells):
    return Cover(towers=np.array(towers, dtype=np.int64), cells=np.array(cells, dtype=np.int64))


def test_the_example_has_the_cover_it_was_drawn_for():
    cover = minimum_cover(PIECES)
    assert (cover.towers.tolist(), cover.cells.tolist()) == ([0], [2])


def test_a_piece_belongs_to_its_cell_if_that_is_in_the_cover_else_to_its_tower():
    # Row 0 is what is left of tower 0, row 1 is cell 2 with the pieces of all three towers.
    assert to_cover(PIECES, COVER).toarray() == pytest.approx(np.array([[0.8, 0, 0], [0.2, 1, 1]]))


def test_cells_outside_the_cover_share_what_is_left_of_the_tower():
    assert from_cover(PIECES, COVER).toarray() == pytest.approx(np.array([[0.75, 0], [0.25, 0], [0, 1]]))


def test_rows_of_the_cover_are_its_towers_then_its_cells():
    everything = cover_of([0, 1, 2], [2])
    expected = [[0.8, 0, 0], [0, 0, 0], [0, 0, 0], [0.2, 1, 1]]
    assert to_cover(PIECES, everything).toarray() == pytest.approx(np.array(expected))
    assert from_cover(PIECES, everything).shape == (3, 4)


@pytest.mark.parametrize("mapping", [to_cover, from_cover])
def test_a_set_that_misses_an_overlap_is_refused(mapping):
    with pytest.raises(ValueError, match="got 2 of 5 overlaps with neither"):
        mapping(PIECES, cover_of([0], []))


@st.composite
def cities(draw):
    """A city of rectangles of random sizes and the Voronoi cells of random towers."""
    cuts = st.lists(st.integers(1, 29), max_size=4, unique=True).map(lambda c: [0, *sorted(c), 30])
    east, north = np.array(draw(cuts)) * 10.0, np.array(draw(cuts)) * 10.0
    west_edges, south_edges = np.meshgrid(east[:-1], north[:-1])
    east_edges, north_edges = np.meshgrid(east[1:], north[1:])
    cells = shapely.box(west_edges, south_edges, east_edges, north_edges).ravel()
    # Towers 10 m apart: closer ones could have a cell of slivers only.
    place = st.integers(0, 30).map(lambda n: 10 * n)
    towers = draw(st.lists(st.tuples(place, place), min_size=1, max_size=15, unique=True))
    return overlaps(tower_cells(np.array(towers, dtype=float), shapely.box(0, 0, 300, 300)), cells)


@settings(deadline=None, max_examples=60)
@given(cities())
def test_there_and_back_is_the_interpolation_and_no_visit_is_lost(pieces):
    cover = minimum_cover(pieces)
    there, back = to_cover(pieces, cover), from_cover(pieces, cover)
    assert there.shape == (len(cover), pieces.towers)
    assert back.shape == (pieces.cells, len(cover))
    assert there.sum(axis=0) == pytest.approx(1, abs=1e-12)
    assert back.sum(axis=0) == pytest.approx(1, abs=1e-12)
    assert (back @ there).toarray() == pytest.approx(interpolation(pieces).toarray(), abs=1e-9)
