"""What studies of releases work on: one materialised week of a synthetic city, and its sampling repeated.

The SQL of the release samples visits, once per cap and sample, as other salts and other caps would have; repetitions of
a study then work on matrices. What was computed is kept beside the study, so going on with it does not count again.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from density_assets import series
from density_assets.calendar import HOURS
from density_assets.errors import BadInput
from density_assets.geography.tables import cells_from, places_from
from density_assets.research.contributions import CountedWeek, read_counted
from density_assets.research.study import Source, hashed
from density_assets.series import vector
from density_assets.settings import Settings
from resources.sql.duckdb_engine import DuckdbEngine
from resources.sql.engine import model_parameters, used
from resources.sql.models import Model, model
from resources.tables.files import make_folder, parquet_bytes, write_durably

PAPERS_DELTA = 2e-6  # Acs & Castelluccia 2014, §6; twenty times the default of releases
TABLES = (
    "tower_series",
    "tower_totals",
    "one_visit_histogram",
    "visit_total",
    "cells",
    "towers",
    "tower_cells",
    "overlaps",
    "cover_graph",
)


@dataclass(frozen=True)
class KnownWeek(CountedWeek):
    """A week's counts before and after truncation, and the public geography they lie on.

    settings: those the week was made under; a point of a grid may name others.
    truth: original visits per cell and hour, which every metric compares with.
    tower_visits: original visits of each tower.
    """

    settings: Settings
    centroids: NDArray[np.float64]
    truth: NDArray[np.float64]
    tower_visits: NDArray[np.float64]


def load_week(source: Source) -> KnownWeek:
    """Read a materialised week; real people's weeks are refused, because a study draws many times."""
    settings, store, week = as_printed(source.settings), source.store, source.week
    if not settings.city.synthetic:
        raise BadInput(
            "a study must run on a synthetic city, got records of real people: it draws noise many times and compares "
            "with the truth, which nobody pays for. Simulate people on the same geography: city.users, no city.visits"
        )
    if not all(store.has_week(table, week) for table in ("visit_total", "tower_totals")):
        raise BadInput(f"the week of {week} of {settings.city.name} must be materialised first: `density release`")
    towers, places = store.read_public("towers")["tower_id"], places_from(source.public, "cover")
    original = series.matrix(store.read_week("tower_series", week), towers, "original").astype(np.float64)
    return KnownWeek(
        **vars(read_counted(store, week, places)),
        settings=settings,
        centroids=cells_from(store.read_public("cells")).centroids,
        truth=places.to_cells("towers") @ original,
        tower_visits=original.sum(axis=1),
    )


def as_printed(settings: Settings) -> Settings:
    """Settings with the delta of the papers, unless a person has stated one: their tables are compared with."""
    stated = "delta" in settings.privacy.model_fields_set
    return settings if stated else settings.with_privacy(delta=PAPERS_DELTA)


def bounds(week: KnownWeek) -> str:
    """The settings that bound what one user adds, as a line above a summary."""
    privacy, scheme = week.settings.privacy, week.settings.scheme
    return (
        f"Unless a table says otherwise: delta {privacy.delta:g}, l = {privacy.visits_per_user} visits kept per user, "
        f"{privacy.visits_clamp} counted in the number of visits, weights for {scheme.weight_l}."
    )


SAMPLES = 3
CHOSEN = frozenset({"epsilon", "name", "calibration", "improved"})  # settings that points name


@dataclass(frozen=True)
class SampledWeek:
    """A week and what sampling keeps of it.

    truncated: tower x hour counts by (cap, sample). sampled: one visit per user, by tower, by sample.
    """

    week: KnownWeek
    truncated: dict[tuple[int, int], NDArray[np.float64]]
    sampled: dict[int, NDArray[np.int64]]

    def at(self, cap: int, seed: int) -> KnownWeek:
        """The week with at most `cap` visits per user; seeds take turns at the samples."""
        sample = seed % SAMPLES
        return replace(self.week, truncated=self.truncated[cap, sample], sampled=self.sampled[sample])


def load_samples(source: Source, caps: Iterable[int]) -> SampledWeek:
    """The week, and what every cap and sample keeps of it."""
    week = load_week(source)
    towers = source.store.read_public("towers")["tower_id"]
    truncated = {
        (cap, sample): _matrix_of_counts(_read_sample(source, "truncated_visits", cap, sample), towers)
        for cap, sample in product(caps, range(SAMPLES))
    }
    drawn = [_read_sample(source, "one_visit_histogram", 1, sample) for sample in range(SAMPLES)]
    sampled = {sample: vector(table, towers, "users") for sample, table in enumerate(drawn)}
    return SampledWeek(week, truncated, sampled)


def _read_sample(source: Source, name: str, cap: int, sample: int) -> pl.DataFrame:
    parameters = model_parameters(source.settings, source.store, source.week, sample) | {"visits_per_user": cap}
    file = source.folder / "samples" / f"{name}_{_sample_identity(source, model(name), parameters)}.parquet"
    if not file.exists():
        make_folder(file.parent)
        what = f"at most {cap} visits, sample {sample + 1} of {SAMPLES}"
        write_durably(file, parquet_bytes(_count_sample(source, name, parameters, what)))
    return pl.read_parquet(file)


def _sample_identity(source: Source, wanted: Model, parameters: dict[str, Any]) -> str:
    """Changes with whatever a sample is made from: the SQL, what it is given, and what it reads."""
    return hashed([wanted.sql, used(wanted, parameters), [source.fingerprint(table) for table in wanted.reads]])


def _count_sample(source: Source, name: str, parameters: dict[str, Any], what: str) -> pl.DataFrame:
    engine = DuckdbEngine(source.store, source.settings.engine)

    def report(line: str) -> None:
        source.report(f"{what}: {line}")

    return engine.counted(name, source.week, parameters, report, by=("tower_id", "hour"))


def _matrix_of_counts(table: pl.DataFrame, towers: pl.Series) -> NDArray[np.float64]:
    """A dense matrix; hours at which nobody was kept are zero."""
    row = {tower: position for position, tower in enumerate(towers)}
    counts = np.zeros((len(towers), HOURS))
    counts[[row[tower] for tower in table["tower_id"]], table["hour"].to_numpy()] = table["rows"].to_numpy()
    return counts


OF_A_WEEK: dict[str, Any] = {"load": load_week, "about": bounds, "weekly": True, "tables": TABLES, "chooses": CHOSEN}
OF_SAMPLES: dict[str, Any] = OF_A_WEEK | {
    "about": lambda inputs: bounds(inputs.week),
    "tables": ("visits", *TABLES),
}
