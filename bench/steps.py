"""The steps that are measured, on a store in a temporary folder."""

from datetime import date
from pathlib import Path

import duckdb
import numpy as np
import pandas  # noqa: F401  # imports are not counted as time, and what writes Parquet would import it
from scipy.sparse import csr_array

from density_assets.geography.overlaps import overlaps, tower_cells
from density_assets.geography.places import minimum_cover
from density_assets.geography.source import embedded_city
from density_assets.geography.tables import antennas_table, towers_table
from density_assets.people.population import simulate_week
from density_assets.research.moving.recovery_attack import link_day, score
from density_assets.research.traces.matrix import binary, group_sums
from density_assets.research.weeks.crowd import HOURS, crowd
from density_assets.schemes.moving.windows import histograms
from density_assets.settings import EngineSettings
from resources.sql.duckdb_engine import DuckdbEngine
from resources.sql.ingest import write_simulated
from resources.tables.store import Store

WEEK = date(2007, 9, 10)
PARAMETERS = {
    "visits_per_user": 30,
    "visits_clamp": 732,
    "weight_l": 1,
    "tower_l": 400,
    "site_salt": 1,
    "hour_salt": 2,
    "visit_salt": 3,
}


def store_of(home: Path, users: int) -> Store:
    """Each size is a city of its own."""
    return Store(home, f"users{users}")


def simulate(home: Path, users: int) -> None:
    """Write the visits of an embedded city."""
    store = store_of(home, users)
    cells, towers = embedded_city()
    store.write_public("towers", towers_table(antennas_table(towers)))
    chunks = simulate_week(cells.centroids, towers.xy, users=users, seed=2007, week=WEEK)
    write_simulated(store, WEEK, chunks, towers, users, lambda _: None)


def scan(home: Path, users: int) -> None:
    """Read every column of the visits once: the yardstick."""
    file = str(store_of(home, users).current_week("visits", WEEK).files[0])
    with duckdb.connect() as connection:
        connection.execute("set threads = $n", {"n": EngineSettings().threads})
        connection.execute("set enable_progress_bar = false")
        sums = "count(*), sum(user_id), sum(hour), sum(tower_id), sum(user_key), max(week)"
        connection.read_parquet(file).aggregate(sums).fetchall()


def materialise(home: Path, users: int, *models: str) -> None:
    """Run models one after the other, written to disk."""
    store = store_of(home, users)
    engine = DuckdbEngine(store, EngineSettings())
    for name in models:
        engine.materialise(name, WEEK, PARAMETERS, lambda _: None)


def geometry() -> None:
    """Voronoi cells, overlaps and minimum cover of the embedded city."""
    cells, towers = embedded_city()
    minimum_cover(overlaps(tower_cells(towers.xy, cells.city), cells.polygons))


def group_aggregates() -> None:
    """Aggregates of 500 groups of some 9,500 of 10,000 users, 582 places, one week: as of a victim in London."""
    rng = np.random.default_rng(1)
    user = np.repeat(np.arange(10_000), 180)
    points = binary(user, rng.integers(0, 582 * 168, len(user)), (10_000, 582 * 168))
    group_sums(csr_array((rng.random((500, 10_000)) < 0.95).astype(np.int32)), points)


def recovery() -> None:
    """The trajectory recovery attack on 1,000 people over 19 stamps, scored."""
    people = crowd(1_000)
    truth = people.cells[0].astype(np.int64)
    counts = histograms(truth, len(people.xy)).astype(np.int64)
    score(truth, link_day(counts, people.xy, np.ones(len(HOURS), dtype=bool)), people.xy)
