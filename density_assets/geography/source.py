"""Where a city's public geography comes from: invented, or read from the files its settings name.

The invented city is made from a seed. Its proportions are those of a large European capital: about 105 km² for 989
cells of some 2,000 inhabitants, and 1,303 towers crowded in the centre. Where towers outnumber cells the cells are the
cheaper description and at the rim it is the reverse, so the minimum cover mixes both and is smaller than either.
"""

from pathlib import Path

import geopandas as gpd
import numpy as np
import polars as pl
import shapely
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from density_assets.geography.cells import known_crs, read_cells
from density_assets.geography.cells_and_towers import Cells, Towers
from density_assets.geography.footprints import Footprints, read_footprints
from density_assets.geography.grid import (
    GRIDS,
    RESOLUTIONS,
    extent_of,
    hexagons_within,
    read_boundary,
    squares_within,
    union_of,
)
from density_assets.geography.towers import listed_points, read_towers
from density_assets.settings import Settings

EMBEDDED_CRS = "EPSG:32631"
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
    return Cells(ids, polygons, EMBEDDED_CRS), _tower_sites(boundary, towers, rng)


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


def city_cells(settings: Settings) -> Cells:
    """The cells a release will speak of."""
    city = settings.city
    if city.grid is not None and city.towers is not None:
        antennas = settings.path(city.towers)
        if city.grid in RESOLUTIONS:
            return _hexagons(settings, antennas, RESOLUTIONS[city.grid])
        return _squares(settings, antennas, GRIDS[city.grid])
    if city.cells is None or city.cell_id is None:
        return embedded_city()[0]
    return read_cells(settings.path(city.cells), city.cell_id, city.cells_crs)


def _squares(settings: Settings, antennas: Path, side: int) -> Cells:
    """Squares of a grid: those within a boundary, or around all antennas of the list."""
    city = settings.city
    if city.boundary is not None:
        file = settings.path(city.boundary)
        return squares_within(union_of(read_boundary(file, city.cells_crs)), side, file)
    points = listed_points(antennas, city.tower_x, city.tower_y)
    return squares_within(extent_of(points, city.tower_crs, antennas), side, antennas)


def _hexagons(settings: Settings, antennas: Path, resolution: int) -> Cells:
    """Hexagons of a grid: those within a boundary, or around all antennas of the list."""
    city = settings.city
    if city.boundary is not None:
        file = settings.path(city.boundary)
        return hexagons_within(read_boundary(file, city.cells_crs), resolution, file)
    points = listed_points(antennas, city.tower_x, city.tower_y)
    crs = known_crs(city.tower_crs, antennas, "city.tower_crs")
    return hexagons_within(gpd.GeoSeries(shapely.points(points), crs=crs), resolution, antennas)


def city_towers(settings: Settings, cells: Cells) -> Towers:
    """The tower sites inside those cells."""
    city = settings.city
    if city.towers is None:
        return embedded_city()[1]
    return read_towers(
        settings.path(city.towers),
        tower_id=city.tower_id,
        x=city.tower_x,
        y=city.tower_y,
        crs=city.tower_crs,
        cells=cells,
        valid_from=city.tower_valid_from,
        valid_to=city.tower_valid_to,
        since=city.first_week,
    )


def city_footprints(settings: Settings, antennas: pl.DataFrame, cells: Cells) -> Footprints | None:
    """Which areas antennas are heard in; none where areas of overlap say it.

    antennas: as `antennas_table` has them.
    """
    city = settings.city
    if city.footprints is None:
        return None
    return read_footprints(
        settings.path(city.footprints),
        tower=city.footprint_tower,
        cell=city.footprint_cell,
        share=city.footprint_share,
        antennas=antennas,
        cell_ids=cells.ids.tolist(),
    )
