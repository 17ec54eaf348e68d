"""What a week's estimate costs by the number of towers: the first week and one with a past, with errors of all cells.

The answer wanted is that time and memory grow with the number of towers, not with its cube or square.
"""

import tempfile
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from bench.measure import cost
from density_assets.calendar import HOURS
from density_assets.estimation.weeks.state import Measured, State
from density_assets.schemes.learning import estimate_after, learned
from density_assets.series import Floats

TOWERS = (1_303, 6_000, 20_000)
SPACING = 280.0  # metres: towers are as dense as in the embedded city
VISITS, SIGMA = 125.0, 63.0  # of a mean tower and hour, and their noise: 1,530 people per tower at epsilon 0.3
TOTALS_SIGMA, CITY_SIGMA = 1_200.0, 60_000.0
DARK = 0.02  # of the towers are out of order for a day
CELLS_PER_TOWER, TOWERS_OF_A_CELL = 0.76, 4


def compare() -> None:
    """Print one Markdown table: time and memory by towers, and how they grow with them."""
    print(f"| towers | week | seconds | processor | x {TOWERS[0]:,} towers | peak MB |")
    print("|--:|---|--:|--:|--:|--:|")
    least: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        for towers in TOWERS:
            home = Path(folder) / f"{towers}"
            cost(prepare, home, towers)
            for week, estimate in (("first", first), ("second", second)):
                measured = cost(estimate, home)
                ratio = measured.processor / least.setdefault(week, measured.processor)
                times = f"{measured.seconds:.1f} | {measured.processor:.1f} | {ratio:.1f}"
                figures = f"{times} | {measured.peak_mb:.0f}"
                print(f"| {towers:,} | {week} | {figures} |", flush=True)


def prepare(home: Path, towers: int) -> None:
    """Invent a city of so many towers, two weeks of it, and what the first leaves to the second."""
    home.mkdir()
    random = np.random.default_rng(towers)
    xy = SPACING * np.sqrt(towers) * random.random((towers, 2))
    usual = _usual(xy, random)
    np.savez(home / "city.npz", xy=xy, first=_counted(usual, random), second=_counted(usual, random))
    state = learned(None, _measured(home, "first"), xy)
    assert state is not None, "the estimate of the first week must not fail"
    np.savez(home / "state.npz", **state.arrays())


def first(home: Path) -> None:
    """The estimate of a week without a past."""
    _estimate(home, "first", None)


def second(home: Path) -> None:
    """The estimate of a week with a past; how long it is makes no difference."""
    with np.load(home / "state.npz") as kept:
        _estimate(home, "second", State.of(dict(kept)))


def _estimate(home: Path, week: str, past: State | None) -> None:
    xy = np.load(home / "city.npz")["xy"]
    made = estimate_after(past, _measured(home, week), _to_cells(xy), xy)
    assert made is not None, "the estimate must not fail"


def _usual(xy: Floats, random: np.random.Generator) -> Floats:
    """Homes and offices, mixed by smooth waves over the city and by every tower's own taste, of sizes that differ."""
    hour, weekend = np.arange(HOURS) % 24, np.arange(HOURS) // 24 >= 5
    office = np.where(weekend, 0.3, 1.0) * np.exp(-(((hour - 13) / 4.0) ** 2))
    home = 0.4 + np.exp(-(((hour - 20) / 3.0) ** 2))
    waves = np.sin(xy @ (random.normal(0.0, 1.0, (2, 20)) / (8 * SPACING))).sum(axis=1) / np.sqrt(20)
    homely = 1 / (1 + np.exp(-2 * waves - random.normal(0.0, 0.5, len(xy))))
    week = random.lognormal(0.0, 0.7, len(xy))[:, None] * (np.outer(homely, home) + np.outer(1 - homely, office))
    return np.asarray(VISITS * week / week.mean())


def _counted(usual: Floats, random: np.random.Generator) -> Floats:
    """The visits of a week, in which some towers were dark for a day."""
    visits = random.poisson(usual).astype(np.float64)
    for tower in random.choice(len(visits), int(DARK * len(visits)), replace=False):
        start = random.integers(HOURS - 24)
        visits[tower, start : start + 24] = 0.0
    return visits


def _measured(home: Path, week: str) -> Measured:
    """A week with noise."""
    with np.load(home / "city.npz") as city:
        visits = city[week]
    random = np.random.default_rng([len(visits), len(week)])
    return Measured(
        series=visits + random.normal(0.0, SIGMA, visits.shape),
        sigma=SIGMA,
        visits=float(visits.sum()),
        visits_sigma=CITY_SIGMA,
        towers=visits.sum(axis=1) + random.normal(0.0, TOTALS_SIGMA, len(visits)),
        towers_sigma=TOTALS_SIGMA,
    )


def _to_cells(xy: Floats) -> csr_array[np.float64, tuple[int, int]]:
    """Cells that share their nearest towers with each other."""
    centroids = xy.max() * np.random.default_rng(len(xy)).random((int(CELLS_PER_TOWER * len(xy)), 2))
    towers = np.asarray(cKDTree(centroids).query(xy, k=TOWERS_OF_A_CELL)[1])  # the cells that each tower is cut into
    share = np.full(towers.size, 1 / TOWERS_OF_A_CELL)
    places = (towers.ravel(), np.repeat(np.arange(len(xy)), TOWERS_OF_A_CELL))
    return csr_array((share, places), shape=(len(centroids), len(xy)))
