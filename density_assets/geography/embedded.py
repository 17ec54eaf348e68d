"""An invented city that comes with the package: boundary, cells and tower sites, from a seed.

Its proportions are those of a large European capital: about 105 km² for 989 cells of some 2,000
inhabitants, and 1,303 towers crowded in the centre. Where towers outnumber cells the cells are the cheaper
description and at the rim it is the reverse, so the minimum cover mixes both and is smaller than either.
"""

import numpy as np
import shapely
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from density_assets.geography.cells_and_towers import Cells, Towers

CRS = "EPSG:32631"
CENTRE = (500_000.0, 5_400_000.0)
CELL_AREA = 105e6 / 989  # square metres: a smaller city has fewer cells, not bigger ones
TOWER_DECAY = 3.0  # towers per km² fall as exp(-3 r/R) from the centre to the rim
CELL_DECAY = 0.5  # cells hold equally many people, so they are somewhat smaller in the dense centre
RIM_MARGIN = 5.0  # metres a tower keeps from the boundary, far more than any rounding of polygons
PROBES_PER_CELL = 60


def embedded_city(cells: int = 989, towers: int = 1303, seed: int = 2007) -> tuple[Cells, Towers]:
    """Invent the cells and tower sites of a city; the same seed gives the same city."""
    if cells < 1 or towers < 1:
        raise ValueError(f"a city needs at least one cell and one tower, got cells={cells}, towers={towers}")
    rng = np.random.default_rng([seed, cells, towers])
    boundary = _boundary(cells * CELL_AREA, rng)
    polygons = _cell_polygons(boundary, cells, rng)
    ids = np.array([f"C{number:04d}" for number in range(1, cells + 1)], dtype=object)
    return Cells(ids, polygons, CRS), _tower_sites(boundary, towers, rng)


def _boundary(area: float, rng: np.random.Generator) -> shapely.Polygon:
    """Draw a star-shaped outline, wider than high, with a few bays and bulges."""
    angle = np.linspace(0.0, 2.0 * np.pi, 240, endpoint=False)
    waves = np.arange(2, 12)
    height = 0.18 / waves * rng.uniform(0.6, 1.4, len(waves))
    phase = rng.uniform(0.0, 2.0 * np.pi, len(waves))
    radius = 1.0 + np.cos(np.outer(angle, waves) + phase) @ height
    outline = np.column_stack([1.15 * radius * np.cos(angle), radius * np.sin(angle)])
    outline *= np.sqrt(area / shapely.Polygon(outline).area)
    return shapely.Polygon(outline + CENTRE)


def _scatter(boundary: shapely.Polygon, count: int, decay: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw points inside the boundary, their density falling as exp(-decay r/R) from the centre."""
    west, south, east, north = boundary.bounds
    rim = np.sqrt(boundary.area / np.pi)
    inside = np.empty((0, 2))
    while len(inside) < count:
        points = rng.uniform((west, south), (east, north), (8 * count + 64, 2))
        distance = np.hypot(*(points - CENTRE).T)
        dense = rng.random(len(points)) < np.exp(-decay * distance / rim)
        inside = np.concatenate([inside, points[dense & shapely.contains_xy(boundary, points)]])
    return inside[:count]


def _cell_polygons(boundary: shapely.Polygon, count: int, rng: np.random.Generator) -> NDArray[np.object_]:
    """Cut the city into compact cells: Lloyd's iteration on random probes, then Voronoi cells."""
    centres = _scatter(boundary, count, CELL_DECAY, rng)
    probes = _scatter(boundary, PROBES_PER_CELL * count, CELL_DECAY, rng)
    for _ in range(5):
        owner = cKDTree(centres).query(probes)[1]
        owned = np.bincount(owner, minlength=count)
        sums = [np.bincount(owner, probes[:, axis], minlength=count) for axis in (0, 1)]
        means = np.column_stack(sums) / np.maximum(owned, 1)[:, None]
        centres = np.where(owned[:, None] > 0, means, centres)
    if count == 1:
        return np.array([boundary], dtype=object)
    voronoi = shapely.voronoi_polygons(shapely.multipoints(centres), extend_to=boundary, ordered=True)
    return np.asarray(shapely.intersection(shapely.get_parts(voronoi), boundary), dtype=object)


def _tower_sites(boundary: shapely.Polygon, count: int, rng: np.random.Generator) -> Towers:
    """Place the towers on distinct whole metres, off the boundary."""
    inside = boundary.buffer(-RIM_MARGIN)
    sites = np.empty((0, 2))
    while len(sites) < count:
        drawn = np.concatenate([sites, np.round(_scatter(inside, count, TOWER_DECAY, rng))])
        first = np.sort(np.unique(drawn, axis=0, return_index=True)[1])
        sites = drawn[first][:count]
    ids = np.arange(1, count + 1)
    return Towers(ids, sites, {int(tower): position for position, tower in enumerate(ids)})
