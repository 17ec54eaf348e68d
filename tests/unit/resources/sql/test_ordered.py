"""Visits in order: every row that the SQL gives, of random weeks and of those made to be difficult."""

from collections.abc import Callable
from datetime import date

import numpy as np
import polars as pl
import pytest
from elsewhere import week_file

from density_assets.settings import EngineSettings
from resources.sql import ordered
from resources.sql.duckdb_engine import DuckdbEngine
from resources.sql.models import model
from resources.sql.ordered import OutOfOrder
from resources.tables import week_writer
from resources.tables.store import Store

WEEK = date(2007, 9, 10)
MODELS = ("truncated_visits", "tower_series")
PARAMETERS = {"visits_per_user": 5, "weight_l": 3, "site_salt": 12_345, "hour_salt": 2_147_483_578}
Rows = list[tuple[object, int, object, int]]  # user_id, hour, tower_id, user_key


def crowd(users: int, towers: list[object], seed: int, largest_key: int = 2_147_483_578) -> Rows:
    """Users of many hours and of few, at one site or at several within an hour."""
    rng = np.random.default_rng(seed)
    keys = np.sort(rng.integers(0, largest_key, users, endpoint=True)).tolist()
    rows = []
    for user, key in enumerate(keys):
        hours = rng.integers(0, rng.choice([2, 12, 168]), rng.integers(1, 40)).tolist()
        rows += [(user, hour, towers[rng.integers(len(towers))], key) for hour in hours]
    return rows


def busy_user() -> Rows:
    return [(7, hour, tower, 7) for hour in range(168) for tower in range(1, 31)]


NUMBERS: list[object] = list(range(1, 31))
WEEKS: dict[str, tuple[list[object], Callable[[], Rows]]] = {
    "random": (NUMBERS, lambda: crowd(400, NUMBERS, 1)),
    "towers with names": (["b", "A", "ä", "a", ""], lambda: crowd(300, ["b", "A", "ä", "a", ""], 2)),
    "towers with large numbers": ([9, -(2**60), 2**61], lambda: crowd(300, [9, -(2**60), 2**61], 3)),
    "towers out of order": ([3, 1, 2], lambda: crowd(300, [3, 1, 2], 4)),
    "users with names": (NUMBERS, lambda: [(f"u{user}", *row) for user, *row in crowd(300, NUMBERS, 5)]),
    "users who share their key": (NUMBERS, lambda: crowd(300, NUMBERS, 6, largest_key=20)),
    "one user with many visits": (NUMBERS, busy_user),
    "many visits between others": (NUMBERS, lambda: [(1, 5, 1, 1), *busy_user(), (9, 5, 1, 9)]),
    "one visit each": (NUMBERS, lambda: [(user, user % 168, 1 + user % 30, user) for user in range(500)]),
    "one visit": (NUMBERS, lambda: [(1, 167, 30, 2_147_483_578)]),
    "nobody": (NUMBERS, list),
}


def stored(store: Store, towers: list[object], rows: Rows, *, in_order: bool = True) -> None:
    store.write_public("towers", pl.DataFrame({"tower_id": towers, "site": range(len(towers))}))
    user, tower = (pl.Series([row[at] for row in rows]).dtype if rows else pl.Int64 for at in (0, 2))
    schema = {"user_id": user, "hour": pl.Int64, "tower_id": tower, "user_key": pl.Int64}
    visits = pl.DataFrame(list(dict.fromkeys(rows)), schema=schema, orient="row")
    if in_order:
        visits = visits.sort("user_key", "user_id", "hour", "tower_id")
    store.write_week("visits", WEEK, visits)


def made(store: Store, threads: int = 2, **changed: int) -> list[bytes]:
    engine = DuckdbEngine(store, EngineSettings(threads=threads))
    for name in MODELS:
        engine.materialise(name, WEEK, PARAMETERS | changed, lambda _: None)
    return [week_file(store, name, WEEK).read_bytes() for name in MODELS]


def test_it_stands_for_the_sql_it_was_compared_with():
    """Whoever changes a model brings this in line, lets these tests compare both, and notes the digest of the model."""
    assert {name: ordered.digest(model(name)) for name in MODELS} == ordered.STANDS_FOR


@pytest.mark.parametrize(
    "changed", [{}, {"visits_per_user": 1, "weight_l": 1, "hour_salt": 0}, {"visits_per_user": 168}]
)
@pytest.mark.parametrize(("towers", "rows"), WEEKS.values(), ids=WEEKS)
def test_every_row_and_type_is_that_of_the_sql(tmp_path, monkeypatch, towers, rows, changed):
    monkeypatch.setattr(week_writer, "ROW_GROUP", 70)  # users lie across row groups, and parts hold several
    monkeypatch.setattr(ordered, "ROWS_AT_ONCE", 150)
    monkeypatch.setattr(ordered, "ROWS_IN_CACHE", 40)
    store = Store(tmp_path, "town")
    stored(store, towers, rows())
    with monkeypatch.context() as patch:
        patch.setattr(DuckdbEngine, "_by_sql", None)
        by_order = made(store, **changed)
    monkeypatch.setattr(ordered, "STANDS_FOR", {})
    assert by_order == made(store, **changed)


def test_threads_change_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(ordered, "ROWS_AT_ONCE", 150)
    monkeypatch.setattr(ordered, "ROWS_IN_CACHE", 40)
    monkeypatch.setattr(week_writer, "ROW_GROUP", 70)
    store = Store(tmp_path, "town")
    stored(store, *(NUMBERS, crowd(200, NUMBERS, 8)))
    assert made(store, threads=1) == made(store, threads=4)


@pytest.mark.parametrize("towers", [[1, 2], [2, 3], ["1", "2"]])
def test_towers_that_are_not_listed_are_left_to_the_sql(tmp_path, monkeypatch, towers):
    store = Store(tmp_path, "town")
    rows = [(user, hour, towers[user % 2], user) for user in range(50) for hour in range(3)]
    stored(store, towers[:1], rows)
    fallen_back = made(store)
    monkeypatch.setattr(ordered, "STANDS_FOR", {})
    assert fallen_back == made(store)


DISORDER: dict[str, Rows] = {
    "keys": crowd(50, NUMBERS, 9)[::-1],
    "users of one key between each other": [(user, hour, 1, 7) for hour in range(9) for user in (1, 2)],
    "users of one key descending": [(user, hour, 1, 7) for user in (2, 1) for hour in range(9)],
    "hours of a user": [(1, hour, tower, 7) for tower in (1, 2) for hour in range(9)],
    "hours beyond the week": [(1, hour, 1, 7) for hour in range(160, 170)],
    "hours before the week": [(1, hour, 1, 7) for hour in range(-2, 3)],
}


@pytest.mark.parametrize("rows", DISORDER.values(), ids=DISORDER)
def test_visits_out_of_order_are_left_to_the_sql(tmp_path, monkeypatch, rows):
    """Else the runs of a scattered user would each keep their cap."""
    store = Store(tmp_path, "town")
    stored(store, NUMBERS, rows, in_order=False)
    with pytest.raises(OutOfOrder):
        list(ordered.truncated_visits(week_file(store, "visits", WEEK), store.read_public("towers"), PARAMETERS, 1))
    fallen_back = made(store)
    monkeypatch.setattr(ordered, "STANDS_FOR", {})
    assert fallen_back == made(store)


def test_a_visit_that_is_there_twice_is_left_to_the_sql(tmp_path, monkeypatch):
    store = Store(tmp_path, "town")
    stored(store, NUMBERS, [])
    twice = pl.DataFrame({"user_id": [1, 1], "hour": [3, 3], "tower_id": [2, 2], "user_key": [7, 7]})
    store.write_week("visits", WEEK, twice)
    fallen_back = made(store)
    monkeypatch.setattr(ordered, "STANDS_FOR", {})
    assert fallen_back == made(store)


def test_a_changed_model_runs_itself(tmp_path, monkeypatch):
    monkeypatch.setattr(ordered, "digest", lambda _: "another")
    monkeypatch.setattr(ordered, "tables", None)
    store = Store(tmp_path, "town")
    stored(store, NUMBERS, crowd(20, NUMBERS, 10))
    assert made(store)
