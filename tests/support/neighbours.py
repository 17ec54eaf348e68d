"""Neighbouring weeks: event files with and without one identifier, through the real ingest, SQL and matrices.

A pair is what the doors would count in both weeks; `violations` says which bound of docs/privacy.md it breaks.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from pathlib import Path

import event_files
import numpy as np
import polars as pl
from event_files import ZONE, Entry, Event, Layout, moment

from density_assets.calendar import week_clock
from density_assets.geography.overlaps import overlaps, tower_cells
from density_assets.geography.places import Places, minimum_cover
from density_assets.geography.source import embedded_city
from density_assets.geography.tables import antennas_table, towers_table
from density_assets.privacy import sensitivity as bound
from density_assets.research.contributions import CountedWeek, read_counted
from density_assets.settings import EngineSettings
from density_assets.settings.city import CitySettings
from resources.sql.duckdb_engine import DuckdbEngine
from resources.tables.store import Store

CELLS, SITES = embedded_city(cells=12, towers=15, seed=3)
ANTENNAS = {f"{site:02d}-{letter}": site for site in range(len(SITES)) for letter in "abc"}  # three on every mast
TOWERS = replace(SITES, antennas=ANTENNAS)
SHAPES = tower_cells(TOWERS.xy, CELLS.city)
PIECES = overlaps(SHAPES, CELLS.polygons)
COVER = minimum_cover(PIECES)
PLACES = Places(PIECES, COVER, TOWERS.xy, SHAPES, CELLS.polygons)
TO_CELLS, TO_COVER = PLACES.from_towers("cells"), PLACES.from_towers("cover")

SUMMER, AUTUMN, SPRING = date(2007, 9, 10), date(2007, 10, 22), date(2007, 3, 19)
REPEATED = 146, 147  # hours of the autumn week, by the stopwatch, that the clocks show as one
NEWCOMER = "the newcomer"
L, WEIGHT_L, CLAMP, TOWER_L = 6, 2, 25, 16
MODELS = ("truncated_visits", "tower_series", "tower_totals", "one_visit_histogram", "visit_total")
CITY = CitySettings.model_construct(visit_user="user_id", visit_time="time", visit_tower="tower_id")

SPARSEST = int(np.argmin(np.bincount(TO_COVER.tocoo().row, minlength=len(COVER))))
LONELY = int(TO_COVER.tocsr()[[SPARSEST]].tocoo().col[0])  # a site that gives to it


@dataclass(frozen=True)
class Case:
    """Two neighbouring sets of event files: with all records of one identifier, and without them.

    part_bytes, rows_per_bucket, threads: how the work is divided; it must not matter.
    """

    entries: Sequence[Entry] = field(repr=False)
    newcomer: str | int = NEWCOMER
    week: date = SUMMER
    layout: Layout = field(default_factory=Layout)
    salts: tuple[int, int, int] = (11, 22, 33)
    part_bytes: int = 10**6
    rows_per_bucket: int = 10**6
    threads: int = 1

    def pair(self, folder: Path) -> "Pair":
        """Both weeks, counted."""
        absent = self._week(folder / "absent", without=self.newcomer)
        return Pair(self, absent, self._week(folder / "present", without=None))

    def expected(self, without: str | int | None) -> set[tuple[str | int, int, int]]:
        """The visits that the files stand for."""
        kept = [entry for entry in self.entries if without is None or entry.user != without]
        return event_files.visits(kept, self.week, ANTENNAS)

    def _week(self, folder: Path, without: str | int | None) -> "Week":
        store = Store(folder, "town")
        antennas = antennas_table(TOWERS)
        store.write_public("antennas", antennas)
        store.write_public("towers", towers_table(antennas))
        engine = DuckdbEngine(store, EngineSettings(threads=self.threads))
        engine.bounds = replace(engine.bounds, part_bytes=self.part_bytes)
        engine.rows_per_bucket = self.rows_per_bucket
        files = self.layout.write(folder / "records", self.entries, without)
        engine.ingest(week_clock(self.week, ZONE), files, CITY, lambda _: None)
        names = ("site_salt", "hour_salt", "visit_salt")
        parameters = {"visits_per_user": L, "weight_l": WEIGHT_L, "visits_clamp": CLAMP, "tower_l": TOWER_L}
        parameters |= dict(zip(names, self.salts, strict=True))
        for name in MODELS:
            engine.materialise(name, self.week, parameters, lambda _: None)
        return Week(store, self.week)


@dataclass(frozen=True)
class Week:
    """One of the two weeks."""

    store: Store
    week: date

    @cached_property
    def counted(self) -> CountedWeek:
        """What the doors may see."""
        return read_counted(self.store, self.week, PLACES)

    def rows(self, table: str) -> pl.DataFrame:
        """A table with a row per visit."""
        return self.store.read_week(table, self.week)

    @cached_property
    def visits(self) -> set[tuple[str | int, int, int]]:
        """Who was where, by position of the site."""
        position = {id_: site for site, id_ in enumerate(TOWERS.ids.tolist())}
        return {(user, hour, position[id_]) for user, hour, id_ in self._named("visits")}

    def _named(self, table: str) -> list[tuple[str | int, int, int]]:
        return self.rows(table).select("user_id", "hour", "tower_id").rows()


@dataclass(frozen=True)
class Pair:
    """Both weeks, and what differs."""

    case: Case
    absent: Week
    present: Week
    labels: np.ndarray = field(default_factory=lambda: np.arange(len(COVER)) % 4)

    def change(self, query: str) -> np.ndarray:
        """The query with the newcomer minus the query without."""
        return np.asarray(getattr(self.present.counted, query)) - np.asarray(getattr(self.absent.counted, query))

    def others(self, week: Week, table: str) -> pl.DataFrame:
        """The rows of everybody but the newcomer."""
        return week.rows(table).filter(pl.col("user_id").cast(pl.String) != str(self.case.newcomer))


def violations(pair: Pair) -> list[str]:
    """What must hold of neighbours and does not, in words."""
    return [*_misread(pair), *_changed_rows(pair), *_lowered(pair), *_too_far(pair)]


def _misread(pair: Pair) -> list[str]:
    """Visits must be those the files stand for: nothing of a line may be lost or added because of another."""
    weeks = {"absent": (pair.absent, pair.case.newcomer), "present": (pair.present, None)}
    wrong = {name: week.visits ^ pair.case.expected(without) for name, (week, without) in weeks.items()}
    return [f"{name}: read otherwise than written: {sorted(rows)[:3]}" for name, rows in wrong.items() if rows]


def _changed_rows(pair: Pair) -> list[str]:
    """Nobody else's rows may change, nor their order."""
    return [
        f"{table}: rows of others have changed"
        for table in ("visits", "truncated_visits")
        if not pair.others(pair.absent, table).equals(pair.others(pair.present, table))
    ]


def _lowered(pair: Pair) -> list[str]:
    """One user more lowers no count: were a count of others lower, their choices would have changed."""
    queries = ("truncated", "weighted", "sampled", "tower_totals", "visit_total")
    return [f"{query}: a count is lower" for query in queries if (pair.change(query) < 0).any()]


def _too_far(pair: Pair) -> list[str]:
    """The bounds of `privacy.sensitivity`, norm by norm."""
    norms: dict[str, tuple[float, float]] = {}
    truncated = pair.change("truncated")
    for name, values in {"towers": truncated, "cells": TO_CELLS @ truncated, "cover": TO_COVER @ truncated}.items():
        squares = bound.truncated_l2(L) ** 2
        norms |= {
            f"{name} L1": (np.abs(values).sum(), bound.truncated_l1(L)),
            f"{name} L2, squared": ((values**2).sum(), squares),
            f"{name} L2 over clusters, squared": ((_summed(values, pair.labels) ** 2).sum(), squares),
            f"{name} totals L1": (np.abs(values.sum(axis=1)).sum(), bound.truncated_l1(L)),
            f"{name} in one hour, L1": (np.abs(values).sum(axis=0).max(), 1 + 1e-9),
        }
    norms["weighted L2, squared"] = (_squares(pair.change("weighted")), WEIGHT_L * bound.WEIGHT_UNIT**2)
    norms["tower totals L2, squared"] = (_squares(pair.change("tower_totals")), TOWER_L * bound.WEIGHT_UNIT**2)
    norms["one visit L1"] = (np.abs(pair.change("sampled")).sum(), bound.one_visit())
    norms["total"] = (abs(int(pair.change("visit_total"))), bound.clamped_total(CLAMP))
    return [f"{name}: {value} > {limit}" for name, (value, limit) in norms.items() if value > limit]


def _squares(change: np.ndarray) -> int:
    """Exact, in integers of any size."""
    return sum(int(value) ** 2 for value in change.reshape(-1))


def _summed(values: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Series of clusters; labels are repeated or cut to the number of places."""
    clusters = np.zeros((labels.max() + 1, values.shape[1]))
    np.add.at(clusters, np.resize(labels, len(values)), values)
    return clusters


# --- newcomers made to hurt --------------------------------------------------------------------------------


def at(hours: Sequence[int], antennas: Sequence[str], week: date = SUMMER, user: str = NEWCOMER) -> list[Entry]:
    """An event at each of these antennas in each of these hours."""
    return [Event(user, moment(week, hour, 7), antenna) for hour in hours for antenna in antennas]


def _restless(events: int) -> list[Entry]:
    chance = random.Random(1)
    return [
        Event(NEWCOMER, moment(SUMMER, chance.randrange(-5, 173), chance.randrange(3600)), chance.choice(EVERYWHERE))
        for _ in range(events)
    ]


EVERYWHERE = list(ANTENNAS)
WHOLE_WEEK = range(168)
CROWD = [*at(range(0, 168, 7), ["00-a"], user="busy"), *at([5], ["03-b"], user="quiet")]
ADVERSARIES: dict[str, list[Entry]] = {
    "every antenna in one hour": at([30], EVERYWHERE) * 3,
    "every antenna in every hour": at(WHOLE_WEEK, EVERYWHERE),
    "one mast all week": at(WHOLE_WEEK, ["00-a", "00-b", "00-c"]),
    "the sparsest cell of the cover all week": at(WHOLE_WEEK, [f"{LONELY:02d}-a"]),
    "as many sites as the cap, each in its own hour": [
        entry for hour in range(L) for entry in at([hour], [f"{hour:02d}-a"])
    ],
    "exactly at the cap": at(range(L), ["00-a"]),
    "one hour above the cap": at(range(L + 1), ["00-a"]),
    "weights without a remainder": at(range(4 * WEIGHT_L), ["00-a"]),  # a half each, and their squares fill the norm
    "totals without a remainder": at(range(8), ["00-a"]),  # 8 visits at one site, each a half: their norm is full
    "totals at four sites": at(range(4), ["00-a", "01-a", "02-a", "03-a"]),  # 4 at each, 4 · 4² = 64, each a half
    "a visit more than fills the totals": at(range(5), ["00-a"]),
    "one visit above the clamp": at(range(CLAMP + 1), ["00-a"]),
    "one visit": at([0], [f"{LONELY:02d}-b"]),
    "the last moment before the week and the first after it": at([-1, 168], EVERYWHERE),
    "a hundred thousand events": _restless(100_000),
}
TWICE_AN_HOUR = at(REPEATED, EVERYWHERE, AUTUMN)  # one slot of the week, both times
