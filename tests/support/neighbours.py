"""Neighbouring weeks (one user more) through the real SQL and the real matrices, and how far apart they come out."""

from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl

from density_assets import series
from density_assets.cities.embedded import embedded_city
from density_assets.cities.tables import antennas_table, towers_table
from density_assets.geometry.cover import minimum_cover
from density_assets.geometry.cover_mapping import to_cover
from density_assets.geometry.overlaps import interpolation, overlaps
from density_assets.geometry.voronoi import tower_cells
from density_assets.settings import EngineSettings
from resources.engine import SqlEngine
from resources.store import Store

WEEK = date(2007, 9, 10)
CELLS, TOWERS = embedded_city(cells=12, towers=15, seed=3)
PIECES = overlaps(tower_cells(TOWERS.xy, CELLS.city), CELLS.polygons)
COVER = minimum_cover(PIECES)
TO_CELLS, TO_COVER = interpolation(PIECES), to_cover(PIECES, COVER)
TABLE = towers_table(antennas_table(TOWERS))
NEWCOMER = 999

L, WEIGHT_L, CLAMP = 6, 2, 25
PARAMETERS = {"visits_per_user": L, "weight_l": WEIGHT_L, "visits_clamp": CLAMP}

SPARSEST = int(np.argmin(np.bincount(TO_COVER.tocoo().col, minlength=len(TOWERS))))
ADVERSARIES = {
    "all towers in one hour": [(30, tower) for tower in range(len(TOWERS))],
    "every tower in every hour": [(hour, tower) for hour in range(168) for tower in range(len(TOWERS))],
    "one tower all week": [(hour, SPARSEST) for hour in range(168)],
    "spread over as many towers as hours": [(hour, hour % len(TOWERS)) for hour in range(L)],
    "exactly at the cap": [(hour, 0) for hour in range(L)],
    "one visit": [(0, SPARSEST)],
}

Visits = list[tuple[int, int]]  # (hour, position of the tower)


@dataclass(frozen=True)
class Change:
    """What one user changes in each query."""

    towers: np.ndarray
    cells: np.ndarray
    cover: np.ndarray
    weighted: np.ndarray
    one_visit: np.ndarray
    total: int


def change(folder: Path, others: dict[int, Visits], newcomer: Visits, **parameters: int) -> Change:
    """Queries with the newcomer minus queries without."""
    without = _queries(folder / "without", others, parameters)
    present = _queries(folder / "with", others | {NEWCOMER: newcomer}, parameters)
    return Change(*(after - before for before, after in zip(without, present, strict=True)))


def _queries(folder: Path, people: dict[int, Visits], parameters: dict[str, int]) -> tuple[np.ndarray, ...]:
    store = Store(folder, "town")
    store.write_public("towers", TABLE)
    rows = sorted({(user, hour, int(TOWERS.ids[tower])) for user, visits in people.items() for hour, tower in visits})
    schema = {"user_id": pl.Int64, "hour": pl.Int64, "tower_id": pl.Int64}
    frame = pl.DataFrame(rows, schema=schema, orient="row").with_columns(user_key=pl.col("user_id"))
    store.write_week("visits", WEEK, frame)
    engine = SqlEngine(store, EngineSettings(threads=1))
    salts = {"site_salt": 11, "hour_salt": 22, "visit_salt": 33}
    for model in ("truncated_visits", "tower_series", "one_visit_histogram", "visit_total"):
        engine.materialise(model, WEEK, parameters | salts, lambda _: None)
    table = store.read_week("tower_series", WEEK)
    truncated = series.matrix(table, TABLE["tower_id"], "truncated").astype(float)
    return (
        truncated,
        TO_CELLS @ truncated,
        TO_COVER @ truncated,
        series.matrix(table, TABLE["tower_id"], "weighted"),
        store.read_week("one_visit_histogram", WEEK)["users"].to_numpy(),
        store.read_week("visit_total", WEEK)["visits"].to_numpy(),
    )


def violations(found: Change, l: int, weight_l: int, clamp: int) -> list[str]:
    """The bounds of `privacy.sensitivity` that the change breaks."""
    from density_assets.privacy import sensitivity as bound

    norms = {
        f"{name} L1": (np.abs(values).sum(), bound.truncated_l1(l))
        for name, values in (("towers", found.towers), ("cells", found.cells), ("cover", found.cover))
    }
    norms |= {
        f"{name} L2": (np.sqrt((values**2).sum()), bound.truncated_l2(l))
        for name, values in (("towers", found.towers), ("cells", found.cells), ("cover", found.cover))
    }
    weighted = [int(value) for value in found.weighted.reshape(-1)]  # exact integers of any size
    norms["weighted L2, squared"] = (sum(v * v for v in weighted), weight_l * 2**32)
    norms["one visit L1"] = (np.abs(found.one_visit).sum(), bound.one_visit())
    norms["total"] = (abs(int(found.total[0])), bound.clamped_total(clamp))
    norms["an hour of the cover"] = (np.abs(found.cover).sum(axis=0).max(), 1 + 1e-9)
    return [f"{name}: {value} > {limit}" for name, (value, limit) in norms.items() if value > limit]
