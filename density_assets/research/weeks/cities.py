"""Cities over many weeks: which there are, whose geography they have and what generates their people.

Every city counts what people do, never a matrix made up as such: weights and bounds hold for each user.

embedded    the city of the package and its population, as everywhere in this project
patchwork   another generator (`patchwork.py`) that no constant was chosen on
own         the geography a person's settings name, with the population of `people/`
pedestrians counts that were really made in a city, where a folder of them is given (`pedestrians.py`)
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache, cached_property
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from density_assets.geography.cells_and_towers import Cells, Towers, geography_hash
from density_assets.geography.cover import minimum_cover
from density_assets.geography.embedded import embedded_city
from density_assets.geography.overlaps import Overlaps, overlaps
from density_assets.geography.places import Places
from density_assets.geography.source import city_cells, city_footprints, city_towers
from density_assets.geography.tables import antennas_table
from density_assets.geography.voronoi import tower_cells
from density_assets.people.population import VisitChunk, simulate_week
from density_assets.research.study import Row, hashed
from density_assets.research.weeks.counting import WeekCounts
from density_assets.research.weeks.patchwork import patchwork_week
from density_assets.settings import Settings
from density_assets.settings.city import EMBEDDED_USERS

Floats = NDArray[np.float64]
Generator = Literal["people", "patchwork"]

FIRST_WEEK = date(2007, 9, 10)
VERSIONS: dict[Generator, int] = {"people": 1, "patchwork": 1}  # change when a generator's visits change
CELLS_PER_TOWER = 989 / 1303  # as in the embedded city


@dataclass(frozen=True, eq=False)
class Ground:
    """The public geography of a city.

    footprints: shares of cells in what towers see, where the city has them; they take the place of areas.
    """

    cells: Cells
    towers: Towers
    footprints: Overlaps | None = None

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """That which settings name."""
        cells = city_cells(settings)
        towers = city_towers(settings, cells)
        footprints = city_footprints(settings, antennas_table(towers), cells)
        return cls(cells, towers, None if footprints is None else footprints.pieces)

    @cached_property
    def places(self) -> Places:
        """What schemes count at, with the cover."""
        shapes = tower_cells(self.towers.xy, self.cells.city)
        pieces = overlaps(shapes, self.cells.polygons) if self.footprints is None else self.footprints
        return Places(pieces, minimum_cover(pieces), self.towers.xy, shapes, self.cells.polygons)

    @cached_property
    def to_cells(self) -> Floats:
        """Series of cells from series of towers, as a dense matrix."""
        return np.asarray(self.places.to_cells("towers").toarray(), dtype=np.float64)

    @property
    def hash(self) -> str:
        """As releases of it have it."""
        return geography_hash(self.cells, self.towers, list(self._shares()))

    def _shares(self) -> Iterator[tuple[str, str, float]]:
        """Tower, cell and share of each piece of the footprints, if there are any."""
        if (pieces := self.footprints) is not None:
            for tower, cell, share in zip(pieces.tower, pieces.cell, pieces.share, strict=True):
                yield str(self.towers.ids[tower]), str(self.cells.ids[cell]), float(share)


@dataclass(frozen=True, eq=False)
class CityPlan:
    """A city that can be simulated for any week."""

    name: str
    generator: Generator
    ground: Ground
    seed: int
    users: int

    @cached_property
    def key(self) -> str:
        """Changes with everything that its weeks are made from."""
        made_from: Row = {"generator": self.generator, "version": VERSIONS[self.generator], "seed": self.seed}
        return hashed(made_from | {"users": self.users, "ground": self.ground.hash})

    def visits(self, number: int) -> Iterator[VisitChunk]:
        """The visits of week 1, 2, ..., in chunks of whole users."""
        xy = self.ground.towers.xy
        if self.generator == "patchwork":
            return patchwork_week(xy, users=self.users, seed=self.seed, number=number)
        week = FIRST_WEEK + timedelta(weeks=number - 1)
        return simulate_week(self.ground.cells.centroids, xy, users=self.users, seed=self.seed, week=week)


@dataclass(frozen=True, eq=False)
class CountedCity:
    """Weeks of a city, counted, in their order."""

    name: str
    ground: Ground
    weeks: tuple[WeekCounts, ...]


def planned(name: str, generator: Generator, towers: int, seed: int, users: int) -> CityPlan:
    """A city on an invented geography."""
    cells = math.ceil(CELLS_PER_TOWER * towers)
    return CityPlan(name, generator, Ground(*embedded_city(cells, towers, seed)), seed, users)


@cache
def embedded() -> CityPlan:
    """The city of the package."""
    return planned("embedded", "people", 1303, 2007, EMBEDDED_USERS)


@cache
def patchwork() -> CityPlan:
    """The city nothing was chosen on."""
    return planned("patchwork", "patchwork", 1000, 40, 1_500_000)


def own(settings: Settings) -> CityPlan:
    """The geography that settings name, with as many people as they say."""
    return CityPlan("own", "people", Ground.of(settings), settings.city.seed, settings.city.simulated_users)
