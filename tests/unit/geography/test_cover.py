"""The minimum cover: covers every overlap, and no smaller set does."""

import os
from itertools import chain, combinations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from density_assets.geography.cells import read_cells
from density_assets.geography.overlaps import Overlaps, interpolation, overlaps, tower_cells
from density_assets.geography.places import from_cover, minimum_cover, to_cover
from density_assets.geography.towers import read_towers

REPOSITORY = Path(__file__).parents[3]
PARIS = Path(os.environ.get("DENSITY_PARIS", REPOSITORY / "../shared/data/paris"))


def graph(edges, towers, cells):
    tower, cell = np.array(sorted(edges), dtype=np.int32).reshape(-1, 2).T
    return Overlaps(tower=tower, cell=cell, area=np.ones(len(tower)), towers=towers, cells=cells)


@st.composite
def graphs(draw, largest):
    towers, cells = draw(st.integers(1, largest)), draw(st.integers(1, largest))
    edges = draw(st.sets(st.tuples(st.integers(0, towers - 1), st.integers(0, cells - 1))))
    return graph(edges, towers, cells)


def covers(towers, cells, pieces):
    return bool((np.isin(pieces.tower, towers) | np.isin(pieces.cell, cells)).all())


def brute_force_size(pieces):
    """The size of the smallest of all subsets of vertices that cover every edge."""
    vertices = [("tower", t) for t in range(pieces.towers)] + [("cell", c) for c in range(pieces.cells)]
    subsets = chain.from_iterable(combinations(vertices, size) for size in range(len(vertices) + 1))
    return next(
        len(subset)
        for subset in subsets
        if covers([v for k, v in subset if k == "tower"], [v for k, v in subset if k == "cell"], pieces)
    )


def test_a_tower_over_many_cells_covers_them_alone():
    cover = minimum_cover(graph({(0, 0), (0, 1), (0, 2)}, towers=1, cells=3))
    assert (cover.towers.tolist(), cover.cells.tolist()) == ([0], [])


def test_a_cell_over_many_towers_covers_them_alone():
    cover = minimum_cover(graph({(0, 0), (1, 0), (2, 0)}, towers=3, cells=1))
    assert (cover.towers.tolist(), cover.cells.tolist()) == ([], [0])


def test_a_star_of_each_kind_needs_both_centres():
    star_of_tower, star_of_cell = {(1, 0), (1, 1), (1, 2)}, {(0, 3), (2, 3), (3, 3)}
    cover = minimum_cover(graph(star_of_tower | star_of_cell, towers=4, cells=4))
    assert (cover.towers.tolist(), cover.cells.tolist()) == ([1], [3])
    assert len(cover) == 2


def test_a_city_without_overlaps_needs_no_cover():
    assert len(minimum_cover(graph(set(), towers=2, cells=3))) == 0


def test_the_same_overlaps_give_the_same_cover():
    full = graph(product(range(6), range(6)), towers=6, cells=6)
    once, again = minimum_cover(full), minimum_cover(full)
    assert once.towers.tolist() == again.towers.tolist()
    assert once.cells.tolist() == again.cells.tolist()


@given(graphs(largest=4))
def test_no_smaller_set_of_vertices_covers_a_tiny_graph(pieces):
    cover = minimum_cover(pieces)
    assert covers(cover.towers, cover.cells, pieces)
    assert len(cover) == brute_force_size(pieces)


@given(graphs(largest=25))
def test_the_cover_is_sorted_complete_and_as_large_as_a_maximum_matching(pieces):
    cover = minimum_cover(pieces)
    edges = csr_array((pieces.area, (pieces.cell, pieces.tower)), shape=(pieces.cells, pieces.towers))
    matched = np.count_nonzero(maximum_bipartite_matching(edges, perm_type="column") >= 0)
    assert covers(cover.towers, cover.cells, pieces)
    assert len(cover) == matched
    assert (np.diff(cover.towers) > 0).all()
    assert (np.diff(cover.cells) > 0).all()


@pytest.mark.skipif(
    not (PARIS / "iris.gpkg").exists(),
    reason="needs iris.gpkg and orange_sites.csv of Paris: set DENSITY_PARIS to their folder",
)
def test_paris():
    cells = read_cells(PARIS / "iris.gpkg", cell_id="DCOMIRIS")
    towers = read_towers(PARIS / "orange_sites.csv", tower_id=None, x="x", y="y", crs="EPSG:2154", cells=cells)
    assert (len(cells), cells.crs) == (992, "EPSG:2154")
    assert cells.city.area / 1e6 == pytest.approx(105.38, abs=0.01)
    assert (len(towers), towers.merged, towers.outside) == (1355, 20, 0)
    pieces = overlaps(tower_cells(towers.xy, cells.city), cells.polygons)
    assert len(pieces) == 5440
    cover = minimum_cover(pieces)
    assert len(cover) == 873
    there_and_back = from_cover(pieces, cover) @ to_cover(pieces, cover)
    assert abs(there_and_back - interpolation(pieces)).max() < 1e-9
