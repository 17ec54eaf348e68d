"""Weeks are simulated and counted once, then lie as compressed arrays in a study's folder; all cores work."""

import io
import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from density_assets.research.weeks.cities import CityPlan, CountedCity
from density_assets.research.weeks.counting import WEIGHTS, TruncatedCounts, WeekCounts, count_truncated, count_week
from resources.tables.files import make_folder, write_durably

TRUNCATED_TO = 30  # visits kept per user by schemes that sample, as in the papers

Report = Callable[[str], None]


def counted_city(plan: CityPlan, weeks: int, folder: Path, report: Report) -> CountedCity:
    """The first weeks of a city, from the folder where they are there already."""
    make_folder(folder)
    todo = [(plan, number, folder) for number in range(1, weeks + 1) if not _file(plan, number, folder).exists()]
    if todo:
        with multiprocessing.get_context("fork").Pool(min(os.cpu_count() or 1, len(todo))) as pool:
            for done, _ in enumerate(pool.imap(_keep, todo), start=1):
                report(f"{plan.name}: {done} of {len(todo)} weeks simulated, {plan.users:,} people each")
            pool.close()
            pool.join()
    return CountedCity(plan.name, plan.ground, tuple(_read(_file(plan, n, folder)) for n in range(1, weeks + 1)))


def truncated_week(plan: CityPlan, folder: Path) -> TruncatedCounts:
    """What schemes that sample count of the first week."""
    make_folder(folder)
    file = folder / f"{plan.name}_{plan.key}_truncated_{TRUNCATED_TO}.npz"
    if not file.exists():
        counts = count_truncated(plan.visits(1), len(plan.ground.towers), TRUNCATED_TO, plan.seed)
        write_durably(file, _compressed(truncated=counts.truncated.astype(np.float32), sampled=counts.sampled))
    with np.load(file) as saved:
        return TruncatedCounts(saved["truncated"].astype(np.float64), saved["sampled"])


def _keep(task: tuple[CityPlan, int, Path]) -> None:
    plan, number, folder = task
    week = count_week(plan.visits(number), len(plan.ground.towers))
    series = {"original": week.original} | {f"weighted_{l}": matrix for l, matrix in week.weighted.items()}
    small = {name: matrix.astype(np.float32) for name, matrix in series.items()}
    content = _compressed(**small, tower_totals=week.tower_totals, visits=np.array(week.visits))
    write_durably(_file(plan, number, folder), content)


def _read(file: Path) -> WeekCounts:
    with np.load(file) as saved:
        arrays = {name: saved[name].astype(np.float64) for name in saved.files}
    weighted = {weight_l: arrays[f"weighted_{weight_l}"] for weight_l in WEIGHTS}
    return WeekCounts(arrays["original"], weighted, arrays["tower_totals"], float(arrays["visits"]))


def _file(plan: CityPlan, number: int, folder: Path) -> Path:
    return folder / f"{plan.name}_{plan.key}_{number:02d}.npz"


def _compressed(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()
