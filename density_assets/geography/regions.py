"""Regions: which district each cell belongs to, a public list of the city's own.

Every cell belongs to one region and every region has a cell, so sums of regions are sums of the city. Regions are added
up after everything is drawn and estimated: they shape no draw, and are no part of what a measurement is kept under.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from density_assets.errors import BadInput, missing_column, some
from density_assets.geography.cells import read_frame
from density_assets.geography.lists import read_list, refuse_formulas, refuse_other_keys, refuse_unprintable
from density_assets.settings import Settings
from density_assets.settings.city import CitySettings

CELL, REGION, NAME = "cell_id", "region_id", "region_name"


@dataclass(frozen=True)
class Regions:
    """The regions of a city.

    ids, names: of the regions, sorted by identifier.
    of_cell: by position, the region of each cell.
    """

    ids: tuple[str, ...]
    names: tuple[str, ...]
    of_cell: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def areas(self) -> NDArray[np.float64]:
        """Which cells are in which region, 1 or 0: regions x cells."""
        return np.asarray(self.of_cell == np.arange(len(self))[:, None], dtype=np.float64)


def regions_named(region_of_cell: list[str], name_of_cell: list[str]) -> Regions:
    """Regions from the identifier and the name of the region of each cell."""
    names = dict(zip(region_of_cell, name_of_cell, strict=True))
    ids = tuple(sorted(names))
    place = {region: number for number, region in enumerate(ids)}
    of_cell = np.array([place[region] for region in region_of_cell], dtype=np.int64)
    return Regions(ids, tuple(names[region] for region in ids), of_cell)


def city_regions(settings: Settings, cell_ids: list[str]) -> Regions | None:
    """The regions that settings name; none if they name none."""
    city = settings.city
    if not city.has_regions:
        return None
    if city.regions is None:
        assert city.cells is not None  # settings were validated
        path = settings.path(city.cells)
        table = _of_cells_file(path, city)
    else:
        path = settings.path(city.regions)
        table = _of_table(path, city)
    return _regions(table, cell_ids, path)


def regions_table(cell_ids: list[str], regions: Regions) -> pl.DataFrame:
    """One row per cell."""
    ids, names = ([texts[place] for place in regions.of_cell] for texts in (regions.ids, regions.names))
    return pl.DataFrame({CELL: cell_ids, REGION: ids, NAME: names})


def regions_from(table: pl.DataFrame) -> Regions:
    """The regions a table holds."""
    return regions_named(table[REGION].to_list(), table[NAME].to_list())


def _of_table(path: Path, city: CitySettings) -> pl.DataFrame:
    """Cell, region and name of a table of its own."""
    region = city.region_id or REGION
    roles = {CELL: [CELL, *filter(None, [city.cell_id])], REGION: region, NAME: city.region_name or region}
    return read_list(path, roles, "regions", as_text=True)


def _of_cells_file(path: Path, city: CitySettings) -> pl.DataFrame:
    """Cell, region and name of columns of the file of cells, which was read before and can be."""
    frame = read_frame(path, None, "cells")
    wanted = {CELL: city.cell_id, REGION: city.region_id, NAME: city.region_name or city.region_id}
    for role, column in wanted.items():
        if column not in frame.columns:
            raise missing_column(path, role, str(column), map(str, frame.columns))
    return pl.DataFrame({role: _texts(frame[column].tolist()) for role, column in wanted.items()})


def _texts(values: list[object]) -> pl.Series:
    """Values of a file of features as text: whole numbers are often stored as floats."""
    texts = [str(int(value)) if isinstance(value, float) and value.is_integer() else value for value in values]
    there = [None if value is None or value != value else str(value).strip() or None for value in texts]  # NaN: none
    return pl.Series(there, dtype=pl.String)


def _regions(table: pl.DataFrame, cell_ids: list[str], path: Path) -> Regions:
    """Regions in the order of cells, if every cell has one."""
    refuse_other_keys(table[CELL], cell_ids, path, "cell of the city")
    without = table.filter(pl.any_horizontal(pl.col(REGION, NAME).is_null()))
    if len(without):
        raise BadInput(
            f"{path.name}: every cell must belong to one region, and every region have a name, found "
            f"{len(without):,} cells without: {some(without[CELL])}"
        )
    for column in (REGION, NAME):
        refuse_unprintable(table[column], path, column)
        refuse_formulas(table[column].unique(maintain_order=True), path, column)
    names = table.group_by(REGION).agg(pl.col(NAME).n_unique()).filter(pl.col(NAME) > 1)
    if len(names):
        raise BadInput(
            f"{path.name}: a region must have one name, found {len(names):,} with several: {some(names[REGION].sort())}"
        )
    ordered = pl.DataFrame({CELL: cell_ids}).join(table, on=CELL, maintain_order="left")
    return regions_from(ordered)
