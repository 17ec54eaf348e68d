"""Where a city's public geography comes from: invented, or read from the files its settings name."""

from density_assets.geography.cells import read_cells
from density_assets.geography.cells_and_towers import Cells, Towers
from density_assets.geography.embedded import embedded_city
from density_assets.geography.towers import read_towers
from density_assets.settings import Settings


def city_cells(settings: Settings) -> Cells:
    """The cells a release will speak of."""
    city = settings.city
    if city.cells is None or city.cell_id is None:
        return embedded_city()[0]
    return read_cells(settings.path(city.cells), city.cell_id, city.cells_crs)


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
