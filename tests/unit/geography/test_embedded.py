"""The embedded city has the proportions it promises, and the same seed gives the same city."""

import numpy as np
import pytest
import shapely
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from density_assets.geography.cells_and_towers import Cells, Towers
from density_assets.geography.source import embedded_city


@pytest.fixture(scope="module")
def city() -> tuple[Cells, Towers]:
    return embedded_city()


def overlaps(cells: Cells, towers: Towers) -> NDArray[np.int64]:
    """Return the pairs (tower, cell) whose areas share more than 1 m²."""
    voronoi = shapely.voronoi_polygons(shapely.multipoints(towers.xy), extend_to=cells.city, ordered=True)
    areas = shapely.get_parts(voronoi)
    tower, cell = shapely.STRtree(cells.polygons).query(areas, predicate="intersects")
    shared = shapely.area(shapely.intersection(areas[tower], cells.polygons[cell]))
    return np.column_stack([tower, cell])[shared > 1.0]


def test_the_same_seed_gives_the_same_city(city: tuple[Cells, Towers]) -> None:
    cells, towers = embedded_city()
    assert shapely.equals_exact(cells.polygons, city[0].polygons).all()
    assert np.array_equal(towers.xy, city[1].xy)


def test_another_seed_gives_another_city(city: tuple[Cells, Towers]) -> None:
    assert not np.array_equal(embedded_city(seed=2008)[1].xy, city[1].xy)


def test_cells_are_valid_disjoint_pieces_of_one_city_of_105_square_kilometres(
    city: tuple[Cells, Towers],
) -> None:
    cells, _ = city
    assert len(cells) == 989
    assert cells.ids[0] == "C0001"
    assert len(set(cells.ids)) == 989
    assert shapely.is_valid(cells.polygons).all()
    assert cells.city.geom_type == "Polygon"
    assert cells.city.area == pytest.approx(105e6, rel=1e-6)
    assert cells.areas.sum() == pytest.approx(cells.city.area, rel=1e-9)  # disjoint, then
    assert cells.areas.min() > 0.2 * cells.areas.mean()


def test_the_outline_is_no_circle(city: tuple[Cells, Towers]) -> None:
    outline = city[0].city
    assert outline.length > 1.03 * 2.0 * np.sqrt(np.pi * outline.area)


def test_towers_are_distinct_points_strictly_inside(city: tuple[Cells, Towers]) -> None:
    cells, towers = city
    assert len(np.unique(towers.xy, axis=0)) == len(towers) == 1303
    assert shapely.contains_xy(cells.city, towers.xy).all()
    assert towers.ids.tolist() == list(range(1, 1304))
    assert [towers.antennas[tower] for tower in towers.ids.tolist()] == list(range(1303))


def test_towers_crowd_in_the_centre(city: tuple[Cells, Towers]) -> None:
    cells, towers = city
    middle = shapely.get_coordinates(cells.city.centroid)[0]
    radius = np.sqrt(cells.city.area / np.pi)
    central = np.hypot(*(towers.xy - middle).T) < radius / 2  # a quarter of the area
    assert central.mean() > 0.5


@pytest.mark.parametrize("seed", [2007, 1])
def test_the_minimum_cover_is_smaller_than_cells_and_towers(seed: int) -> None:
    cells, towers = embedded_city(seed=seed)
    tower, cell = overlaps(cells, towers).T
    assert len(np.unique(tower)) == len(towers)
    graph = csr_array((np.ones(len(tower)), (tower, cell)), shape=(len(towers), len(cells)))
    # König's theorem: the minimum vertex cover is as large as the maximum matching.
    cover = np.count_nonzero(maximum_bipartite_matching(graph, perm_type="column") >= 0)
    assert 800 <= cover <= 900


def test_a_smaller_city_has_fewer_cells_of_the_same_size() -> None:
    cells, towers = embedded_city(cells=30, towers=40)
    assert (len(cells), len(towers)) == (30, 40)
    assert cells.areas.mean() == pytest.approx(105e6 / 989, rel=1e-6)


def test_the_smallest_city_is_one_cell_and_one_tower() -> None:
    cells, towers = embedded_city(cells=1, towers=1)
    assert shapely.contains_xy(cells.polygons[0], towers.xy).all()


@pytest.mark.parametrize(("cells", "towers"), [(0, 5), (5, 0)])
def test_an_empty_city_is_refused(cells: int, towers: int) -> None:
    with pytest.raises(ValueError, match=f"cells={cells}, towers={towers}"):
        embedded_city(cells=cells, towers=towers)
