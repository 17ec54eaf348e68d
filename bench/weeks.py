"""What a week's released tables cost to store, by how many weeks are stored already.

Tables of the size of the case study, as the graph writes them: each week three Parquet files, then `release.duckdb`
is brought up to date. The answer wanted is that a year of weeks does not make the next one dearer.
"""

import os
import shutil
import tempfile
from datetime import date, timedelta
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

from bench.measure import Cost, cost
from density_assets.calendar import HOURS
from resources.tables.release_database import export
from resources.tables.released import ReleasedTables

STORED = (2, 52)
REPETITIONS = 5
FIRST = date(2007, 1, 1)
PLACES = {"noisy_series": 1_303, "smoothed_series": 989, "density": 989}  # of the embedded city


def compare() -> None:
    """Print one Markdown table: the least seconds of each step by weeks stored, and their ratio."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        homes = {weeks: Path(folder) / f"{weeks}" for weeks in STORED}
        for weeks, home in homes.items():
            cost(fill, home / "stored", weeks)  # elsewhere, because a process starts with the peak of its parent
        # In turns, because others use the machine as well.
        measured = [{weeks: _week(homes[weeks], weeks) for weeks in STORED} for _ in range(REPETITIONS)]
        few, many = ([repetition[weeks] for repetition in measured] for weeks in STORED)
        anew = [cost(build_anew, homes[weeks] / "stored").seconds for weeks in STORED]
    print(f"| step | {STORED[0]} weeks stored | {STORED[1]} weeks stored | ratio |")
    print("|---|--:|--:|--:|")
    _row("write three tables", *(min(written.seconds for written, _ in week) for week in (few, many)))
    _row("bring release.duckdb up to date", *(min(export.seconds for _, export in week) for week in (few, many)))
    _row("**a week's writes**", *(min(sum(part.seconds for part in week) for week in weeks) for weeks in (few, many)))
    _row("for comparison: build release.duckdb anew", *anew)
    peaks = [max(part.peak_mb for week in weeks for part in week) for weeks in (few, many)]
    print(f"| peak memory of a week's writes | {peaks[0]:.0f} MB | {peaks[1]:.0f} MB | {peaks[1] / peaks[0]:.2f} |")


def _row(step: str, before: float, after: float) -> None:
    print(f"| {step} | {before:.2f} s | {after:.2f} s | {after / before:.2f} |")


def _week(home: Path, weeks: int) -> tuple[Cost, Cost]:
    """One week more, in a copy."""
    city = home / "city"
    shutil.rmtree(city, ignore_errors=True)
    shutil.copytree(home / "stored", city)  # with the times of files, so that nothing seems new
    os.sync()  # what was copied is not what is measured
    return cost(write, city, weeks), cost(bring_up_to_date, city, len(PLACES))


def fill(folder: Path, weeks: int) -> None:
    """Store and export so many weeks."""
    for number in range(weeks):
        write(folder, number)
    export(ReleasedTables(folder))


def write(folder: Path, number: int) -> None:
    """Write one week of each table."""
    tables, week = ReleasedTables(folder), FIRST + timedelta(weeks=number)
    for name, places in PLACES.items():
        tables.write_release_week(name, week, _rows(places), f"release{number}")


def bring_up_to_date(folder: Path, files: int) -> None:
    """Export what is new."""
    read = export(ReleasedTables(folder))
    assert len(read) == files, f"{files} files are new, {len(read)} were read"


def build_anew(folder: Path) -> None:
    """Export everything, as after damage."""
    ReleasedTables(folder).release_database.unlink()
    export(ReleasedTables(folder))


@cache
def _rows(places: int) -> pl.DataFrame:
    """Counts of every place and hour, which hardly compress."""
    rng = np.random.default_rng(places)
    return pl.DataFrame(
        {
            "cell_id": np.repeat([f"{place:09}" for place in range(places)], HOURS),
            "hour": np.tile(np.arange(HOURS), places),
            "count": rng.poisson(500, places * HOURS),
            "standard_error": rng.random(places * HOURS),
        }
    )
