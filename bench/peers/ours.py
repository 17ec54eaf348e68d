"""Ours, from the same rows: the visits side on DuckDB, then the exact discrete Gaussian.

Twice: noise on truncated counts, which is what the peers do, and the default scheme for a first week. Rows are read as
records are: users are bounded here, and cells are found from time and tower, which the peers are given. What is written
on the way (visits, truncated visits, series) is written as a release writes it. The ledger is not part of the question.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from bench.peers.question import PeerQuestion, answer, nothing
from bench.steps import PARAMETERS, WEEK
from density_assets import series
from density_assets.calendar import week_clock
from density_assets.geography.overlaps import overlaps, tower_cells
from density_assets.geography.places import Places
from density_assets.geography.source import embedded_city
from density_assets.geography.tables import antennas_table, towers_table
from density_assets.privacy.calibration import gaussian_sigma
from density_assets.privacy.events import Gaussian
from density_assets.privacy.noise import OpenDpNoise
from density_assets.privacy.sensitivity import truncated_l2
from density_assets.schemes.learning import estimate_after
from density_assets.schemes.lowrank import LowRank
from density_assets.schemes.run import draw
from density_assets.schemes.scheme import Counts
from density_assets.settings import EngineSettings, PrivacySettings, Settings
from density_assets.settings.city import CitySettings
from resources.sql.duckdb_engine import DuckdbEngine
from resources.tables.store import Store

CITY = CitySettings.model_construct(visit_user="user_id", visit_time="time", visit_tower="tower")
ZONE = ZoneInfo("Europe/Paris")


def noise(_: None, question: PeerQuestion) -> Any:
    """Truncated counts with noise of the given rho."""
    norm = truncated_l2(question.cap)
    event = Gaussian("truncated visits per tower and hour", gaussian_sigma(question.rho, norm), norm)
    with tempfile.TemporaryDirectory(prefix="bench-") as home:
        store = _counted(Path(home), question, "truncated_visits", "tower_series")
        towers = store.read_public("towers")["tower_id"]
        counts = series.matrix(store.read_week("tower_series", WEEK), towers, "truncated")
    return OpenDpNoise().discrete_gaussian(counts, event).reshape(-1)


def lowrank(_: None, question: PeerQuestion) -> Any:
    """The series of the towers as the default scheme estimates them, with the errors of all cells, in a first week."""
    settings, scheme = _settings(question), LowRank()
    with tempfile.TemporaryDirectory(prefix="bench-") as home:
        models = ("truncated_visits", "tower_series", "tower_totals", "visit_total")
        store = _counted(Path(home), question, *models)
        towers = store.read_public("towers")["tower_id"]
        counts = Counts(
            series=series.matrix(store.read_week("tower_series", WEEK), towers, "weighted"),
            visit_total=store.read_week("visit_total", WEEK)["visits"].item(),
            tower_totals=series.vector(store.read_week("tower_totals", WEEK), towers, "weighted"),
        )
    plan, places = scheme.plan(settings), _places()
    drawn = draw(scheme, plan, counts, places, OpenDpNoise())
    measured = scheme.measured(plan, drawn.totals, drawn.series)
    estimate = estimate_after(None, measured, places.to_cells("towers"), places.tower_xy)
    if estimate is None:
        raise ArithmeticError("the estimate of a first week must be finite, but it is not")
    return estimate.series.reshape(-1)


def _settings(question: PeerQuestion) -> Settings:
    promised = PrivacySettings(epsilon=question.epsilon, delta=question.delta, visits_per_user=question.cap)
    return Settings(privacy=promised)


def _counted(home: Path, question: PeerQuestion, *models: str) -> Store:
    """A store with these tables of the visits side."""
    settings, store = _settings(question), Store(home, "city")
    antennas = antennas_table(embedded_city()[1])
    store.write_public("antennas", antennas)
    store.write_public("towers", towers_table(antennas))
    engine = DuckdbEngine(store, EngineSettings())
    engine.ingest(week_clock(WEEK, ZONE), [Path(question.visits)], CITY, _silent)
    shaping = {"weight_l": settings.scheme.weight_l, "tower_l": settings.scheme.tower_l}
    for model in models:
        engine.materialise(model, WEEK, {**PARAMETERS, "visits_per_user": question.cap, **shaping}, _silent)
    return store


def _places() -> Places:
    """The public geography, without a cover: the scheme counts at towers."""
    cells, towers = embedded_city()
    pieces = overlaps(tower_cells(towers.xy, cells.city), cells.polygons)
    return Places(pieces, None, towers.xy, None, cells.polygons)


def _silent(_: str) -> None:
    """Progress is not shown."""


if __name__ == "__main__":
    answer(nothing, {"noise": noise, "lowrank": lowrank}[sys.argv[1]])
