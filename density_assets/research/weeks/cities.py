"""Cities over many weeks: which there are, whose geography they have and what generates their people.

Every city counts what people do, never a matrix made up as such: weights and bounds hold for each user.

embedded    the city of the package and its population, as everywhere in this project
patchwork   another generator (`patchwork.py`) that no constant was chosen on
own         the geography a person's settings name, with the population of `people/`
pedestrians counts that were really made in a city, where a folder of them is given

Without anything else a study of weeks works on the embedded city and the patchwork; a geography of one's own (settings)
or a folder of pedestrians (data) takes their place. Weeks are simulated and counted once, then lie as compressed arrays
in the study's folder; all cores work.

A folder of pedestrians holds `pedestrians.npy` (sensors x hours from a Friday 00:00, negative where nothing was
counted) and `sensors.csv` (columns lat and lon, in the same order), as cities publish them. There are no people behind
such counts, so there are no weights: it is as if everybody made VISITS visits, which both bounds leave as they are.
Counts are scaled to a population and drawn anew around that (Poisson); a sensor that did not count is a silent tower.
"""

import io
import math
import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import polars as pl
import pyproj
import shapely
from numpy.typing import NDArray

from density_assets.calendar import HOURS
from density_assets.errors import BadInput
from density_assets.geography.cells_and_towers import Cells, Towers, geography_hash
from density_assets.geography.overlaps import Overlaps, overlaps, tower_cells
from density_assets.geography.places import Places, minimum_cover
from density_assets.geography.source import city_cells, city_footprints, city_towers, embedded_city
from density_assets.geography.tables import antennas_table
from density_assets.people.population import VisitChunk, simulate_week
from density_assets.research.study import Row, Source, hashed
from density_assets.research.weeks.counting import (
    WEIGHTS,
    TruncatedCounts,
    WeekCounts,
    WeeksPromise,
    count_truncated,
    count_week,
)
from density_assets.research.weeks.estimators import LEARNING_NAME, LEARNING_VERSION
from density_assets.research.weeks.patchwork import patchwork_week
from density_assets.series import Floats
from density_assets.settings import Settings
from density_assets.settings.city import EMBEDDED_USERS
from resources.tables.files import make_folder, write_durably

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


def plan_city(name: str, generator: Generator, towers: int, seed: int, users: int) -> CityPlan:
    """A city on an invented geography."""
    cells = math.ceil(CELLS_PER_TOWER * towers)
    return CityPlan(name, generator, Ground(*embedded_city(cells, towers, seed)), seed, users)


@cache
def embedded() -> CityPlan:
    """The city of the package."""
    return plan_city("embedded", "people", 1303, 2007, EMBEDDED_USERS)


@cache
def patchwork() -> CityPlan:
    """The city nothing was chosen on."""
    return plan_city("patchwork", "patchwork", 1000, 40, 1_500_000)


def own(settings: Settings) -> CityPlan:
    """The geography that settings name, with as many people as they say."""
    return CityPlan("own", "people", Ground.of(settings), settings.city.seed, settings.city.simulated_users)


# --- weeks on disk ---------------------------------------------------------------------------------------------------


TRUNCATED_TO = 30  # visits kept per user by schemes that sample, as in the papers

Report = Callable[[str], None]


def counted_city(plan: CityPlan, weeks: int, folder: Path, report: Report) -> CountedCity:
    """The first weeks of a city, from the folder where they are there already."""
    make_folder(folder)
    todo = [(plan, number, folder) for number in range(1, weeks + 1) if not _week_file(plan, number, folder).exists()]
    if todo:
        with multiprocessing.get_context("fork").Pool(min(os.cpu_count() or 1, len(todo))) as pool:
            for done, _ in enumerate(pool.imap(_keep, todo), start=1):
                report(f"{plan.name}: {done} of {len(todo)} weeks simulated, {plan.users:,} people each")
            pool.close()
            pool.join()
    return CountedCity(
        plan.name, plan.ground, tuple(_read_week(_week_file(plan, n, folder)) for n in range(1, weeks + 1))
    )


def truncated_week(plan: CityPlan, folder: Path) -> TruncatedCounts:
    """What schemes that sample count of the first week."""
    make_folder(folder)
    file = folder / f"{plan.name}_{plan.key}_truncated_{TRUNCATED_TO}.npz"
    if not file.exists():
        counts = count_truncated(plan.visits(1), len(plan.ground.towers), TRUNCATED_TO, plan.seed)
        write_durably(file, _compressed(truncated=counts.truncated.astype(np.float32), sampled=counts.sampled))
    with np.load(file) as saved:
        return TruncatedCounts(saved["truncated"].astype(np.float64), saved["sampled"])


def _keep(task: tuple[CityPlan, int, Path]) -> None:
    plan, number, folder = task
    week = count_week(plan.visits(number), len(plan.ground.towers))
    series = {"original": week.original} | {f"weighted_{l}": matrix for l, matrix in week.weighted.items()}
    small = {name: matrix.astype(np.float32) for name, matrix in series.items()}
    content = _compressed(**small, tower_totals=week.tower_totals, visits=np.array(week.visits))
    write_durably(_week_file(plan, number, folder), content)


def _read_week(file: Path) -> WeekCounts:
    with np.load(file) as saved:
        arrays = {name: saved[name].astype(np.float64) for name in saved.files}
    weighted = {weight_l: arrays[f"weighted_{weight_l}"] for weight_l in WEIGHTS}
    return WeekCounts(arrays["original"], weighted, arrays["tower_totals"], float(arrays["visits"]))


def _week_file(plan: CityPlan, number: int, folder: Path) -> Path:
    return folder / f"{plan.name}_{plan.key}_{number:02d}.npz"


def _compressed(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


# --- pedestrians -----------------------------------------------------------------------------------------------------


POPULATION = 500_000
VISITS = 10  # of everybody in the mean week: below both bounds on weights
TO_MONDAY = 72  # hours from Friday 00:00
MARGIN = 300.0  # metres of city around the outermost sensors


def pedestrian_city(folder: Path, weeks: int, seed: int = 1) -> CountedCity:
    """The first whole weeks of the folder's counts."""
    counts = _read_pedestrians(folder)
    most = (counts.shape[1] - TO_MONDAY) // HOURS
    if weeks > most:
        raise BadInput(f"{folder}: pedestrians.npy must hold {weeks} whole weeks, found {most}")
    whole = counts[:, TO_MONDAY : TO_MONDAY + most * HOURS].reshape(len(counts), most, HOURS)
    scale = POPULATION * VISITS / whole.sum(axis=(0, 2)).mean()
    random = np.random.default_rng(seed)
    return CountedCity(
        "pedestrians",
        _ground_of_sensors(folder),
        tuple(_week_of_pedestrians(scale * whole[:, k], random) for k in range(weeks)),
    )


def _week_of_pedestrians(expected: NDArray[np.float64], random: np.random.Generator) -> WeekCounts:
    visits = random.poisson(expected).astype(np.float64)
    return WeekCounts(visits, dict.fromkeys(WEIGHTS, visits), visits.sum(axis=1), float(visits.sum()))


def _read_pedestrians(folder: Path) -> NDArray[np.float64]:
    for name in ("pedestrians.npy", "sensors.csv"):
        if not (folder / name).exists():
            raise BadInput(f"{folder}: a folder of pedestrians must hold {name}, found nothing by that name")
    return np.asarray(np.maximum(np.load(folder / "pedestrians.npy"), 0.0), dtype=np.float64)


def _ground_of_sensors(folder: Path) -> Ground:
    """Sensors as towers, and what is nearest to each as its cell."""
    table = pl.read_csv(folder / "sensors.csv")
    lon, lat = table["lon"].to_numpy(), table["lat"].to_numpy()
    crs = pyproj.CRS(proj="utm", zone=int((lon.mean() + 180) // 6) + 1, south=bool(lat.mean() < 0), ellps="WGS84")
    x, y = pyproj.Transformer.from_crs("EPSG:4326", crs, always_xy=True).transform(lon, lat)
    xy, ids = np.column_stack([x, y]), np.arange(1, len(table) + 1)
    city = shapely.MultiPoint(xy).convex_hull.buffer(MARGIN)
    cells = Cells(np.array([f"P{number}" for number in ids], dtype=object), tower_cells(xy, city), crs.to_string())
    return Ground(cells, Towers(ids, xy, {int(number): place for place, number in enumerate(ids)}))


# --- what studies of weeks work on -----------------------------------------------------------------------------------


NAMES = ("embedded", "patchwork", "own", "pedestrians")
KEPT = "cities"  # the folder of simulated weeks, beside those of the studies

Cities = Mapping[str, CountedCity]


def plans(source: Source) -> list[CityPlan]:
    """What is simulated."""
    if source.data is not None:
        return []
    return [embedded(), patchwork()] if source.settings.city.embedded else [own(source.settings)]


def load_cities(weeks: int) -> Callable[[Source], Cities]:
    """How to get the first weeks of the study's cities."""

    def load(source: Source) -> Cities:
        if source.data is not None:
            return {"pedestrians": pedestrian_city(source.data, weeks)}
        return {plan.name: counted_city(plan, weeks, source.folder / KEPT, source.report) for plan in plans(source)}

    return load


def cities_made_from(source: Source) -> Row:
    """Plans and estimator: others make other repetitions."""
    return {"estimator": [LEARNING_NAME, LEARNING_VERSION], "cities": [plan.key for plan in plans(source)]}


def describe_cities(cities: Cities) -> str:
    """Each city in a few words."""
    parts = [
        f"{city.name}: {len(city.ground.towers):,} towers, {len(city.ground.cells):,} cells, "
        f"{city.weeks[0].visits:,.0f} visits in the first week"
        for city in cities.values()
    ]
    note = (
        f" Counts of pedestrians are scaled to {POPULATION:,} people of {VISITS} visits each and have no weights: "
        "there are no people in them."
    )
    return "; ".join(parts) + "." + (note if "pedestrians" in cities else "")


def point_of(promise: WeeksPromise) -> Row:
    """A promise as columns of a grid."""
    return {
        "promise": str(promise),
        "epsilon": promise.epsilon,
        "delta": promise.delta,
        "total_weeks": promise.weeks,
        "weight_l": promise.weight_l,
    }


def promise_of(point: Row) -> WeeksPromise:
    """The promise of a point of a grid."""
    return WeeksPromise(point["epsilon"], point["delta"], point["total_weeks"], point["weight_l"])
