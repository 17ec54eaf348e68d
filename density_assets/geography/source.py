"""Where a city's public geography comes from: invented, or read from the files its settings name."""

from pathlib import Path

import geopandas as gpd
import polars as pl
import shapely

from density_assets.geography.cells import read_cells
from density_assets.geography.cells_and_towers import Cells, Towers
from density_assets.geography.coordinate_systems import known_crs
from density_assets.geography.embedded import embedded_city
from density_assets.geography.footprints import Footprints, read_footprints
from density_assets.geography.grid import GRIDS, extent_of, read_boundary, squares_within, union_of
from density_assets.geography.hexagons import RESOLUTIONS, hexagons_within
from density_assets.geography.towers import listed_points, read_towers
from density_assets.settings import Settings


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
