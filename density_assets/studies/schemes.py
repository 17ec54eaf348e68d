"""Every scheme against the truth of a synthetic city: MRE, PC and EMD over seeded repetitions.

Finished repetitions are kept, so a study that was interrupted goes on where it stopped.
"""

import json
import multiprocessing
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from density_assets.metrics.correlation import pearson
from density_assets.metrics.earth_movers import mean_emd
from density_assets.metrics.relative_error import mre
from density_assets.privacy.noise import SimulatedNoise
from density_assets.schemes import SCHEMES
from density_assets.settings import PrivacySettings, SchemeSettings, Settings
from density_assets.studies.inputs import Week

EMD_HOURS = range(3, 168, 12)  # 03:00 and 15:00 of every day: EMD is a thousand times dearer than the other metrics
IMPROVABLE = ("efpa", "efpag")
# MRE, PC and EMD as printed, at epsilon 0.3, delta 2e-6, l 30 (Acs & Castelluccia 2014)
PUBLISHED = {"lpa": (1.01, 0.47, 341.0), "efpa": (None, None, 258.0), "efpag": (0.17, 0.96, 188.0)}


@dataclass(frozen=True)
class Point:
    """One cell of the grid."""

    scheme: str
    calibration: str
    improved: bool
    epsilon: float

    def settings(self) -> Settings:
        """The settings that ask for it; everything else as by default."""
        scheme = SchemeSettings(name=self.scheme, calibration=self.calibration, improved=self.improved)  # type: ignore[arg-type]  # validated
        return Settings(privacy=PrivacySettings(epsilon=self.epsilon), scheme=scheme)


def grid(epsilons: tuple[float, ...] = (0.1, 0.3, 1.0)) -> list[Point]:
    """Every scheme, sound at all epsilons and published at 0.3."""
    points = []
    for name in SCHEMES:
        for improved in (True, False) if name in IMPROVABLE else (True,):
            points += [Point(name, "sound", improved, epsilon) for epsilon in epsilons]
            if name != "lowrank":
                points.append(Point(name, "published", improved, 0.3))
    return points


def run(week: Week, folder: Path, points: list[Point], repetitions: int, report: Callable[[str], None]) -> pl.DataFrame:
    """Results of all repetitions, one row each; both cores work."""
    folder.mkdir(parents=True, exist_ok=True)
    done = folder / "repetitions.jsonl"
    kept = [json.loads(line) for line in done.read_text().splitlines()] if done.exists() else []
    have = {(*(row[name] for name in Point.__dataclass_fields__), row["seed"]) for row in kept}
    todo = [(p, seed) for seed in range(repetitions) for p in points if (*asdict(p).values(), seed) not in have]
    with done.open("a") as file:
        for number, row in enumerate(_measured(week, todo), start=1):
            kept.append(row)
            file.write(json.dumps(row) + "\n")
            file.flush()
            report(f"{number} of {len(todo)}: {row['scheme']} {row['calibration']} epsilon {row['epsilon']:g}")
    return pl.DataFrame(kept)


def once(week: Week, point: Point, seed: int) -> dict[str, Any]:
    """One draw with seeded noise, and how far it is from the truth."""
    scheme, settings, noise = SCHEMES[point.scheme], point.settings(), SimulatedNoise(seed)
    plan, counts = scheme.plan(settings), week.counts(scheme)
    totals = scheme.totals(plan, counts, noise)
    labels = scheme.clusters(plan, totals, week.places)
    drawn = scheme.series(plan, counts, labels, noise)
    estimate = scheme.estimate(settings, plan, totals, labels, drawn, week.places)
    density = np.asarray(week.places.to_cells(scheme.places) @ estimate.series)
    return {
        **asdict(point),
        "seed": seed,
        "mre": mre(week.truth, density),
        "pc": pearson(week.truth, density),
        "emd": mean_emd(week.truth, density, week.centroids, EMD_HOURS),
        "clusters": int(labels.max()) + 1,
    }


def summary(results: pl.DataFrame) -> pl.DataFrame:
    """Mean and standard deviation over repetitions."""
    metrics = [
        expression
        for name in ("mre", "pc", "emd")
        for expression in (pl.col(name).mean(), pl.col(name).std().alias(f"{name}_sd"))
    ]
    keys = list(Point.__dataclass_fields__)
    return results.group_by(keys).agg(*metrics, pl.len().alias("repetitions")).sort("epsilon", "calibration", "mre")


def as_markdown(summarised: pl.DataFrame) -> str:
    """The summary as a table, beside the published numbers."""
    lines = [
        "| scheme | calibration | epsilon | MRE | PC | EMD (m) | published MRE / PC / EMD |",
        "|---|---|--:|--:|--:|--:|---|",
    ]
    for row in summarised.iter_rows(named=True):
        name = row["scheme"] + ("" if row["improved"] or row["scheme"] not in IMPROVABLE else " −")
        printed = PUBLISHED.get(row["scheme"]) if row["epsilon"] == 0.3 and row["improved"] else None
        beside = " / ".join("–" if value is None else f"{value:g}" for value in printed) if printed else ""
        figures = " | ".join(
            f"{row[m]:{f}} ± {row[m + '_sd']:{f}}" for m, f in (("mre", ".3f"), ("pc", ".4f"), ("emd", ".0f"))
        )
        lines.append(f"| {name} | {row['calibration']} | {row['epsilon']:g} | {figures} | {beside} |")
    return "\n".join(lines)


_WEEK: Week | None = None


def _measured(week: Week, todo: list[tuple[Point, int]]) -> Iterator[dict[str, Any]]:
    """One process per core; the matrices are inherited, not copied to each task."""
    global _WEEK
    _WEEK = week
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        yield from pool.imap_unordered(_one, todo)


def _one(task: tuple[Point, int]) -> dict[str, Any]:
    assert _WEEK is not None  # set before the pool starts
    return once(_WEEK, *task)
