"""A town made to show what one user changes: the worst neighbours we know of.

Its cells are squares with a tower in the middle of each, so that towers, cells and cover are the same places and areal
shares dilute nobody. Its crowd is flat: every tower but one has equally many visits in every hour, hence series without
any rhythm. A newcomer's coefficients are then all there is besides the mean, which is where choosing the number of
coefficients depends most on one user.

Both weeks are counted by the models of `dbt_like_sql/`, from visits to tables: nothing about truncation, weights or
clamps is assumed, so a bound that they do not keep shows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import shapely

from density_assets.calendar import HOURS
from density_assets.geography.cells_and_towers import Cells, Towers
from density_assets.geography.overlaps import overlaps, tower_cells
from density_assets.geography.places import Places, minimum_cover
from density_assets.geography.tables import antennas_table, towers_table
from density_assets.research.contributions import CountedWeek, read_counted
from density_assets.settings import EngineSettings
from resources.sql.duckdb_engine import DuckdbEngine
from resources.tables.store import Store

MODELS = ("truncated_visits", "tower_series", "tower_totals", "one_visit_histogram", "visit_total")
SALTS = {"site_salt": 11, "hour_salt": 22, "visit_salt": 33}
MONDAY = date(2007, 9, 10)

Visits = list[tuple[int, int]]  # (hour, position of the tower)
VisitsOfUsers = Mapping[int, Visits]  # by user


def count_by_sql(
    folder: Path, towers: Towers, places: Places, people: VisitsOfUsers, parameters: Mapping[str, int]
) -> CountedWeek:
    """The tables of a week of these people, as matrices.

    folder: a home of its own, empty. parameters: visits_per_user, visits_clamp, weight_l and tower_l.
    """
    store = Store(folder, "town")
    store.write_public("towers", towers_table(antennas_table(towers)))
    store.write_week("visits", MONDAY, _visits(people, towers))
    engine = DuckdbEngine(store, EngineSettings(threads=1))
    for name in MODELS:
        engine.materialise(name, MONDAY, {**parameters, **SALTS}, lambda _: None)
    return read_counted(store, MONDAY, places)


def _visits(people: VisitsOfUsers, towers: Towers) -> pl.DataFrame:
    """The `visits` table: distinct rows, sorted by user, whose number is the key."""
    rows = sorted({(user, hour, int(towers.ids[tower])) for user, seen in people.items() for hour, tower in seen})
    schema = {"user_id": pl.Int64, "hour": pl.Int64, "tower_id": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(user_key=pl.col("user_id"))


SIDE, SQUARE = 4, 1_000  # squares per side, and metres per square
TOWERS_COUNT = SIDE * SIDE
EMPTY = TOWERS_COUNT - 1  # the tower where nobody has been
VISITS_PER_USER = 28  # l of the test: as near to the default of 30 as a divisor of the week can be
CROWD = 100  # visits per hour at every other tower: clusters keep apart at epsilon 4 and merge at 0.3
NEWCOMER = 10_000_000
PARAMETERS = {"visits_per_user": VISITS_PER_USER, "visits_clamp": 732, "weight_l": 20, "tower_l": 400}

# What the newcomer does. Each is the worst for some query: the bounds on series, totals, weights and clamp are reached.
CANARIES: dict[str, Visits] = {
    "concentrated": [(hour, 0) for hour in range(HOURS)],
    "spread": [(6 * visit, visit % EMPTY) for visit in range(VISITS_PER_USER)],
    "over the cap": [(hour, tower) for hour in range(HOURS) for tower in range(TOWERS_COUNT)],
    "sparsest cell": [(hour, EMPTY) for hour in range(HOURS)],
}


@dataclass(frozen=True)
class Neighbours:
    """The week without the newcomer, and the weeks with, by what the newcomer does."""

    absent: CountedWeek
    present: Mapping[str, CountedWeek]


def neighbours(folder: Path, crowd: int = CROWD, canaries: Mapping[str, Visits] = CANARIES) -> Neighbours:
    """The town's week with and without each newcomer, counted by the real SQL.

    folder: empty, for the tables. crowd: visits per hour and tower.
    """
    (towers, places), people = town(), flat_crowd(crowd)

    def week(name: str, newcomer: VisitsOfUsers) -> CountedWeek:
        return count_by_sql(folder / name.replace(" ", "_"), towers, places, {**people, **newcomer}, PARAMETERS)

    present = {name: week(name, {NEWCOMER: visits}) for name, visits in canaries.items()}
    return Neighbours(week("nobody", {}), present)


def town() -> tuple[Towers, Places]:
    """The towers of the town, and its places."""
    corners = [(SQUARE * (i % SIDE), SQUARE * (i // SIDE)) for i in range(TOWERS_COUNT)]
    squares = np.array([shapely.box(x, y, x + SQUARE, y + SQUARE) for x, y in corners], dtype=object)
    cells = Cells(np.array([f"C{i:02d}" for i in range(TOWERS_COUNT)], dtype=object), squares, "EPSG:2154")
    ids = np.arange(1, TOWERS_COUNT + 1)
    towers = Towers(ids, cells.centroids, {int(id_): i for i, id_ in enumerate(ids)})
    shapes = tower_cells(towers.xy, cells.city)
    pieces = overlaps(shapes, cells.polygons)
    return towers, Places(pieces, minimum_cover(pieces), towers.xy, shapes, cells.polygons)


def flat_crowd(visits_per_hour: int) -> VisitsOfUsers:
    """Users with exactly l visits at one tower, evenly over the week; together they fill every hour alike."""
    starts = HOURS // VISITS_PER_USER
    kinds = [(tower, start) for tower in range(TOWERS_COUNT) if tower != EMPTY for start in range(starts)]
    weeks = [[(hour, tower) for hour in range(start, HOURS, starts)] for tower, start in kinds]
    return dict(enumerate(weeks * visits_per_hour, start=1))
