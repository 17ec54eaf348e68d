"""What the visits side costs on either engine, and what that makes of a country: `make bench-scale`.

Raw records of the embedded city, three events for each visit, as Parquet files; every engine reads them and makes all
tables of the visits side, in a process of its own. Of Spark, processor time and bytes shuffled are what its stages say.
What lies on disk on the way is looked at whenever an engine says how far it is: parts are staged whole before any is
sorted, and Spark keeps what it shuffled.
Extrapolation follows the power that was measured between the sizes; what it assumes is said in `docs/scale.md`.
"""

import json
import math
import os
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import psutil

from bench.measure import run
from bench.steps import PARAMETERS, WEEK
from density_assets.calendar import week_clock
from density_assets.geography.source import embedded_city
from density_assets.geography.tables import antennas_table, towers_table
from density_assets.people.population import simulate_week
from density_assets.settings import EngineSettings
from density_assets.settings.city import CitySettings
from resources.sql import ingest, spark_session
from resources.sql.duckdb_engine import DuckdbEngine
from resources.sql.engine import Engine, Report
from resources.sql.spark_engine import SparkEngine
from resources.tables.store import Store

SIZES = (50_000, 200_000, 800_000)
EVENTS = 3  # of a visit
MODELS = ("truncated_visits", "tower_series", "tower_totals", "one_visit_histogram", "visit_total")
CITY = CitySettings.model_construct(visit_user="user", visit_time="time", visit_tower="tower")
COUNTRY = 60_000_000  # people
PART = 500_000  # people, whose records are as many as one of a country's 500 parts holds
SETTINGS = EngineSettings(threads=2, memory="3GB")


@dataclass(frozen=True)
class Measured:
    """Processor seconds, wall seconds, megabytes shuffled and spilled; how much more the busiest task reads."""

    processor: float
    seconds: float
    shuffled: float = 0.0
    spilled: float = 0.0
    skew: float = 1.0


@dataclass(frozen=True)
class Room:
    """The most megabytes in memory, of all processes of an engine, and the most bytes on disk on the way."""

    memory: float
    disk: int


def compare(sizes: Iterable[int] = SIZES, part: int = PART) -> None:
    """Print the steps of both engines, all steps together, and what follows for a country.

    part: how many people's records are sorted at once.
    """
    print("| people | records | engine | step | processor s | wall s | MB shuffled | MB spilled | busiest task |")
    print("|--:|--:|---|---|--:|--:|--:|--:|--:|")
    totals: dict[str, list[tuple[int, Measured]]] = {"duckdb": [], "spark": []}
    together: list[str] = []
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        for people in sizes:
            folder = Path(name) / str(people)
            records = run(_write_records, folder, people)
            for engine, total in totals.items():
                steps, room = run(_everything, folder, engine)
                for step, cost in steps.items():
                    print(f"| {people:,} | {records:,} | {engine} | {step} | {_shown(cost)} |", flush=True)
                total.append((people, _sum(steps.values())))
                together.append(f"| {people:,} | {records:,} | {engine} | {_added(total[-1][1], room, records)} |")
    print(
        "\n| people | records | engine | processor s | wall s | MB shuffled | MB in memory | bytes on disk a record |"
    )
    print("|--:|--:|---|--:|--:|--:|--:|--:|", *together, sep="\n")
    for engine, total in totals.items():
        print(f"\n{engine}: {_extrapolated(total)}")
    _say_largest_part(part)


def _say_largest_part(people: int) -> None:
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        records = run(_write_records, Path(name), people)
        most = run(_one_part, Path(name))
    memory = EngineSettings().memory
    print(f"\nduckdb, {records:,} records in one part, engine.memory = {memory}: {most:,.0f} MB in memory")


def _write_records(folder: Path, people: int) -> int:
    """Raw records of a simulated week, in no order; returns how many."""
    cells, towers = embedded_city()
    (folder / "records").mkdir(parents=True)
    clock, rng, count = week_clock(WEEK, ZoneInfo("Europe/Paris")), np.random.default_rng(1), 0
    for number, chunk in enumerate(simulate_week(cells.centroids, towers.xy, users=people, seed=2007, week=WEEK)):
        rows = rng.permutation(np.repeat(np.arange(len(chunk.user)), EVENTS))
        time = clock.monday - clock.before + chunk.hour[rows].astype(np.int64) * 3600 + rng.integers(0, 3600, len(rows))
        tower = towers.ids[chunk.tower[rows]].astype(str)
        frame = pl.DataFrame({"user": chunk.user[rows], "time": time, "tower": tower})
        frame.write_parquet(folder / "records" / f"{number}.parquet")
        count += len(rows)
    return count


def _everything(folder: Path, engine: str) -> tuple[dict[str, Measured], Room]:
    store = _store(folder, engine)
    chosen = SparkEngine(store, SETTINGS) if engine == "spark" else DuckdbEngine(store, SETTINGS)
    meter = _Stages(store) if engine == "spark" else _Process()
    on_disk = [0]

    def look(_: str) -> None:
        on_disk.append(_bytes_on_the_way(store))

    costs = {"records → visits": meter.of(lambda: _ingest(chosen, folder, look))}
    for name in MODELS:
        costs[name] = meter.of(lambda name=name: chosen.materialise(name, WEEK, PARAMETERS, look))
    return costs, Room(sum(map(_most_resident, _processes())), max(on_disk))


def _one_part(folder: Path) -> float:
    """The most megabytes in memory where all records are sorted at once, as each part of a country's is."""
    ingest.MOST_PARTS = 1
    _ingest(DuckdbEngine(_store(folder, "one part"), EngineSettings(threads=2)), folder, lambda _: None)
    return _most_resident(os.getpid())


def _store(folder: Path, engine: str) -> Store:
    store = Store(folder / engine, "city", None, str(folder / "weeks") if engine == "spark" else None)
    _, towers = embedded_city()
    antennas = antennas_table(towers)
    store.write_public("antennas", antennas)
    store.write_public("towers", towers_table(antennas))
    return store


def _ingest(engine: Engine, folder: Path, report: Report) -> None:
    clock = week_clock(WEEK, ZoneInfo("Europe/Paris"))
    engine.ingest(clock, sorted((folder / "records").iterdir()), CITY, report)


def _bytes_on_the_way(store: Store) -> int:
    """Of staged records, and of what did not fit memory or was shuffled."""
    folders = (store.confidential / name for name in ("staging", "spill"))
    return sum(file.stat().st_size for folder in folders for file in folder.rglob("*") if file.is_file())


def _processes() -> list[int]:
    """The one that asks, and that of Java if there is one."""
    return [os.getpid(), *(child.pid for child in psutil.Process().children(recursive=True) if child.name() == "java")]


def _most_resident(process: int) -> float:
    """Megabytes."""
    (line,) = [line for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


class _Process:
    """Measures work of this process."""

    def of(self, work: Callable[[], object]) -> Measured:
        start, busy = time.perf_counter(), time.process_time()
        work()
        return Measured(time.process_time() - busy, time.perf_counter() - start)


class _Stages:
    """Measures work of Spark by what its stages say of themselves."""

    def __init__(self, store: Store) -> None:
        spark_session.UNSEEN = {}  # of people who do not exist everything may be seen
        self._context = spark_session.spark_session(SETTINGS, store.confidential, lambda _: None).sparkContext
        self._seen: set[tuple[int, int]] = set()

    def of(self, work: Callable[[], object]) -> Measured:
        start = time.perf_counter()
        work()
        seconds = time.perf_counter() - start
        stages = [stage for stage in self._asked("stages?withSummaries=true") if self._is_new(stage)]
        return Measured(
            sum(stage["executorCpuTime"] for stage in stages) / 1e9,
            seconds,
            sum(stage["shuffleWriteBytes"] for stage in stages) / 1e6,
            sum(stage["diskBytesSpilled"] for stage in stages) / 1e6,
            max((_skew(stage) for stage in stages), default=1.0),
        )

    def _is_new(self, stage: dict[str, Any]) -> bool:
        which = (stage["stageId"], stage["attemptId"])
        fresh = stage["status"] == "COMPLETE" and which not in self._seen
        self._seen.add(which)
        return fresh

    def _asked(self, what: str) -> Any:
        address = f"{self._context.uiWebUrl}/api/v1/applications/{self._context.applicationId}/{what}"
        with urllib.request.urlopen(address) as answer:
            return json.load(answer)


def _skew(stage: dict[str, Any]) -> float:
    """How much more the busiest task of a stage shuffles than the median one."""
    spread = (stage.get("taskMetricsDistributions") or {}).get("shuffleReadMetrics", {}).get("readBytes", [])
    return spread[-1] / spread[len(spread) // 2] if spread and spread[len(spread) // 2] > 0 else 1.0


def _sum(costs: Iterable[Measured]) -> Measured:
    each = list(costs)
    return Measured(
        sum(cost.processor for cost in each),
        sum(cost.seconds for cost in each),
        sum(cost.shuffled for cost in each),
        sum(cost.spilled for cost in each),
        max(cost.skew for cost in each),
    )


def _shown(cost: Measured) -> str:
    return f"{cost.processor:.1f} | {cost.seconds:.1f} | {cost.shuffled:.1f} | {cost.spilled:.1f} | {cost.skew:.1f}"


def _added(cost: Measured, room: Room, records: int) -> str:
    spent = f"{cost.processor:.1f} | {cost.seconds:.1f} | {cost.shuffled:,.0f}"
    return f"{spent} | {room.memory:,.0f} | {room.disk / records:.0f}"


def _extrapolated(total: list[tuple[int, Measured]]) -> str:
    """What a country would take, by the power that was measured between the two largest sizes."""
    if len(total) < 2:
        return "one size has no slope"
    (fewer, small), (more, large) = total[-2:]
    power = math.log(large.processor / small.processor) / math.log(more / fewer)
    hours = large.processor * (COUNTRY / more) ** max(power, 1.0) / 3600
    shuffled = large.shuffled * COUNTRY / more / 1e3
    return (
        f"cost grows with power {power:.2f}; {COUNTRY:,} people at power {max(power, 1.0):.2f} are {hours:,.0f} core "
        f"hours and {shuffled:,.0f} GB shuffled"
    )
