"""Weeks through the real SQL: what the doors would see with one user more and without.

Nothing about truncation, weights or clamps is assumed here. Both weeks are counted by the models of `dbt_like_sql/`,
from visits to tables, so a bound that they do not keep shows.
"""

from collections.abc import Mapping
from datetime import date
from pathlib import Path

import polars as pl

from density_assets.geography.cells_and_towers import Towers
from density_assets.geography.places import Places
from density_assets.geography.tables import antennas_table, towers_table
from density_assets.research.contributions import CountedWeek, read_counted
from density_assets.settings import EngineSettings
from resources.sql.duckdb_engine import DuckdbEngine
from resources.tables.store import Store

MODELS = ("truncated_visits", "tower_series", "tower_totals", "one_visit_histogram", "visit_total")
SALTS = {"site_salt": 11, "hour_salt": 22, "visit_salt": 33}
MONDAY = date(2007, 9, 10)

Visits = list[tuple[int, int]]  # (hour, position of the tower)
People = Mapping[int, Visits]  # by user


def counted(folder: Path, towers: Towers, places: Places, people: People, parameters: Mapping[str, int]) -> CountedWeek:
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


def _visits(people: People, towers: Towers) -> pl.DataFrame:
    """The `visits` table: distinct rows, sorted by user, whose number is the key."""
    rows = sorted({(user, hour, int(towers.ids[tower])) for user, seen in people.items() for hour, tower in seen})
    schema = {"user_id": pl.Int64, "hour": pl.Int64, "tower_id": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(user_key=pl.col("user_id"))
