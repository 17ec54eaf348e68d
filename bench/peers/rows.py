"""The visits that everybody counts: a simulated week of the embedded city, as one Parquet file for each size."""

from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bench.steps import WEEK
from density_assets.calendar import HOURS, week_clock
from density_assets.geography.source import embedded_city
from density_assets.people.population import simulate_week

VISITS_PER_USER = 13.6  # of the simulation


def write_rows(file: Path, about: int) -> None:
    """Distinct visits of whole users, so many that there are about this many rows, in no order."""
    cells, towers = embedded_city()
    users = round(about / VISITS_PER_USER)
    chunks = list(simulate_week(cells.centroids, towers.xy, users=users, seed=2007, week=WEEK))
    user, hour, tower = (np.concatenate([vars(chunk)[name] for chunk in chunks]) for name in ("user", "hour", "tower"))
    clock = week_clock(WEEK, ZoneInfo("Europe/Paris"))
    visits = pl.DataFrame(
        {
            "user_id": user,
            "cell": tower.astype(np.int64) * HOURS + hour,
            "time": clock.monday - clock.before + hour.astype(np.int64) * 3600,
            "tower": towers.ids[tower].astype(str),
        }
    )
    visits[np.random.default_rng(1).permutation(len(visits))].write_parquet(file)


def cells() -> int:
    """How many there are, known to everybody."""
    return len(embedded_city()[1].ids) * HOURS


def truth(file: Path) -> NDArray[np.int64]:
    """Visits per tower (row) and hour, all of them."""
    counted = np.bincount(pl.read_parquet(file, columns=["cell"])["cell"].to_numpy(), minlength=cells())
    return counted.reshape(-1, HOURS)
