"""Counts that were really made: pedestrians per sensor and hour, as cities publish them, scaled to a population.

A folder holds `pedestrians.npy` (sensors x hours from a Friday 00:00, negative where nothing was counted) and
`sensors.csv` (columns lat and lon, in the same order). There are no people behind such counts, so there are no
weights: it is as if everybody made VISITS visits, which both bounds leave as they are. Counts are drawn anew around
the scaled ones (Poisson); a sensor that did not count is a silent tower.
"""

from pathlib import Path

import numpy as np
import polars as pl
import pyproj
import shapely
from numpy.typing import NDArray

from density_assets.calendar import HOURS
from density_assets.errors import BadInput
from density_assets.geography.cells_and_towers import Cells, Towers
from density_assets.geography.voronoi import tower_cells
from density_assets.research.weeks.cities import CountedCity, Ground
from density_assets.research.weeks.counting import WEIGHTS, WeekCounts

POPULATION = 500_000
VISITS = 10  # of everybody in the mean week: below both bounds on weights
TO_MONDAY = 72  # hours from Friday 00:00
MARGIN = 300.0  # metres of city around the outermost sensors


def pedestrian_city(folder: Path, weeks: int, seed: int = 1) -> CountedCity:
    """The first whole weeks of the folder's counts."""
    counts = _read(folder)
    most = (counts.shape[1] - TO_MONDAY) // HOURS
    if weeks > most:
        raise BadInput(f"{folder}: pedestrians.npy must hold {weeks} whole weeks, found {most}")
    whole = counts[:, TO_MONDAY : TO_MONDAY + most * HOURS].reshape(len(counts), most, HOURS)
    scale = POPULATION * VISITS / whole.sum(axis=(0, 2)).mean()
    random = np.random.default_rng(seed)
    return CountedCity("pedestrians", _ground(folder), tuple(_week(scale * whole[:, k], random) for k in range(weeks)))


def _week(expected: NDArray[np.float64], random: np.random.Generator) -> WeekCounts:
    visits = random.poisson(expected).astype(np.float64)
    return WeekCounts(visits, dict.fromkeys(WEIGHTS, visits), visits.sum(axis=1), float(visits.sum()))


def _read(folder: Path) -> NDArray[np.float64]:
    for name in ("pedestrians.npy", "sensors.csv"):
        if not (folder / name).exists():
            raise BadInput(f"{folder}: a folder of pedestrians must hold {name}, found nothing by that name")
    return np.asarray(np.maximum(np.load(folder / "pedestrians.npy"), 0.0), dtype=np.float64)


def _ground(folder: Path) -> Ground:
    """Sensors as towers, and what is nearest to each as its cell."""
    table = pl.read_csv(folder / "sensors.csv")
    lon, lat = table["lon"].to_numpy(), table["lat"].to_numpy()
    crs = pyproj.CRS(proj="utm", zone=int((lon.mean() + 180) // 6) + 1, south=bool(lat.mean() < 0), ellps="WGS84")
    x, y = pyproj.Transformer.from_crs("EPSG:4326", crs, always_xy=True).transform(lon, lat)
    xy, ids = np.column_stack([x, y]), np.arange(1, len(table) + 1)
    city = shapely.MultiPoint(xy).convex_hull.buffer(MARGIN)
    cells = Cells(np.array([f"P{number}" for number in ids], dtype=object), tower_cells(xy, city), crs.to_string())
    return Ground(cells, Towers(ids, xy, {int(number): place for place, number in enumerate(ids)}))
