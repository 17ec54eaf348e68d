"""The sampling of visits repeated: what other salts and other caps would have kept of the same week.

The SQL of the release does it, once per cap and sample; repetitions of a study then work on matrices. What was
computed is kept beside the study, so going on with it does not count again.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from density_assets.calendar import HOURS
from density_assets.research.density.week import Week, load_week
from density_assets.research.study import Source, hashed
from density_assets.series import vector
from resources.sql.duckdb_engine import DuckdbEngine
from resources.sql.engine import used
from resources.sql.models import Model, model
from resources.sql.parameters import model_parameters
from resources.tables.files import make_folder, parquet_bytes, write_durably

SAMPLES = 3


@dataclass(frozen=True)
class SampledWeek:
    """A week and what sampling keeps of it.

    truncated: tower x hour counts by (cap, sample). sampled: one visit per user, by tower, by sample.
    """

    week: Week
    truncated: dict[tuple[int, int], NDArray[np.float64]]
    sampled: dict[int, NDArray[np.int64]]

    def at(self, cap: int, seed: int) -> Week:
        """The week with at most `cap` visits per user; seeds take turns at the samples."""
        sample = seed % SAMPLES
        return replace(self.week, truncated=self.truncated[cap, sample], sampled=self.sampled[sample])


def load_samples(source: Source, caps: Iterable[int]) -> SampledWeek:
    """The week, and what every cap and sample keeps of it."""
    week = load_week(source)
    towers = source.store.read_public("towers")["tower_id"]
    truncated = {
        (cap, sample): _series(_kept(source, "truncated_visits", cap, sample), towers)
        for cap, sample in product(caps, range(SAMPLES))
    }
    drawn = [_kept(source, "one_visit_histogram", 1, sample) for sample in range(SAMPLES)]
    sampled = {sample: vector(table, towers, "users") for sample, table in enumerate(drawn)}
    return SampledWeek(week, truncated, sampled)


def _kept(source: Source, name: str, cap: int, sample: int) -> pl.DataFrame:
    parameters = model_parameters(source.settings, source.store, source.week, sample) | {"visits_per_user": cap}
    file = source.folder / "samples" / f"{name}_{_identity(source, model(name), parameters)}.parquet"
    if not file.exists():
        make_folder(file.parent)
        what = f"at most {cap} visits, sample {sample + 1} of {SAMPLES}"
        write_durably(file, parquet_bytes(_counted(source, name, parameters, what)))
    return pl.read_parquet(file)


def _identity(source: Source, wanted: Model, parameters: dict[str, Any]) -> str:
    """Changes with whatever a sample is made from: the SQL, what it is given, and what it reads."""
    return hashed([wanted.sql, used(wanted, parameters), [source.fingerprint(table) for table in wanted.reads]])


def _counted(source: Source, name: str, parameters: dict[str, Any], what: str) -> pl.DataFrame:
    engine = DuckdbEngine(source.store, source.settings.engine)

    def report(line: str) -> None:
        source.report(f"{what}: {line}")

    return engine.counted(name, source.week, parameters, report, by=("tower_id", "hour"))


def _series(table: pl.DataFrame, towers: pl.Series) -> NDArray[np.float64]:
    """A dense matrix; hours at which nobody was kept are zero."""
    row = {tower: position for position, tower in enumerate(towers)}
    counts = np.zeros((len(towers), HOURS))
    counts[[row[tower] for tower in table["tower_id"]], table["hour"].to_numpy()] = table["rows"].to_numpy()
    return counts
