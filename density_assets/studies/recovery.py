"""How many trajectories the recovery attack finds, without noise and with (Chen et al., Figs. 5 and 6)."""

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from numpy.typing import NDArray

from density_assets.attacks.recovery import countable, link_day, score
from density_assets.moving.daily import NAMES as SCHEMES
from density_assets.moving.daily import release
from density_assets.moving.stream import Floats, histograms
from density_assets.plots.curves import curves
from density_assets.privacy.noise import SimulatedNoise
from density_assets.studies.crowds import NAMES, Days, load_days, recipe
from density_assets.studies.study import Row, Study, averaged
from density_assets.studies.tables import figure_cell, markdown

PEOPLE = 1_000
POINTS = (10, 13, 16, 19)
EPSILONS = (0.1, 0.5, 1.0)
PUBLISHED = {10: "78.9 %", 19: "61.0 %"}
UNDER_DP = "10–20 %"
NOTHING, NOISE = "none", "noise alone"


def once(days: Days, point: Row, seed: int) -> list[Row]:
    """The attack on the counts of some people, drawn with the seed."""
    random = np.random.default_rng(seed)
    there = np.flatnonzero((days.cells[-1] >= 0).all(axis=1))
    people = random.choice(there, min(PEOPLE, len(there)), replace=False)
    stamps = min(point["points"], len(days.clock))
    some = Days(days.xy, days.cells[:, people, :stamps], days.clock[:stamps])
    some = some if point["locations"] == "all" else only_seen(some)
    truth = some.cells[-1].astype(np.int64)
    still = some.night if point["links"] == "velocity" else np.ones(stamps, dtype=bool)
    found = link_day(_counts(some, point, seed, random), some.xy, still)
    accuracy, error = score(truth, found, some.xy)
    return [{"accuracy": accuracy, "error": error}]


def only_seen(days: Days) -> Days:
    """The same people on a list of the cells they are in on the last day; elsewhere they are not counted."""
    seen = np.unique(days.cells[-1][days.cells[-1] >= 0])
    position = np.full(len(days.xy) + 1, -1, dtype=np.int32)  # the last for people who are nowhere, -1
    position[seen] = np.arange(len(seen))
    return Days(days.xy[seen], position[days.cells], days.clock)


def _counts(days: Days, point: Row, seed: int, random: np.random.Generator) -> NDArray[np.int64]:
    """What the attacker sees, as whole counts of the people there are."""
    people = days.cells.shape[1]
    if point["scheme"] == NOTHING:
        return histograms(days.cells[-1], len(days.xy)).astype(np.int64)
    return countable(_noisy(days, point, seed), people, random)


def _noisy(days: Days, point: Row, seed: int) -> Floats:
    *past, today = days.streams()
    if point["scheme"] == NOISE:
        return np.random.default_rng([seed, 1]).laplace(0, 1e6, today.shape)
    return release(point["scheme"], past, today, recipe(past, point), SimulatedNoise(seed)).released


def figures(days: Days, results: pl.DataFrame) -> dict[str, Figure]:
    """Accuracy by number of points without noise, and by epsilon with noise."""
    bare = averaged(results.filter(scheme=NOTHING), ["links", "points"], ("accuracy", "error"))
    noisy = results.filter(~pl.col("scheme").is_in([NOTHING, NOISE]), locations="all")
    under = averaged(noisy, ["scheme", "epsilon"], ("accuracy", "error"))
    named = under.with_columns(line=pl.col("scheme").replace(NAMES))
    metrics = ("accuracy", "error")
    return {
        "recovery_without_noise": curves(bare, "points", metrics, "links", over_label="points of a trajectory"),
        "recovery_under_dp": curves(named, "epsilon", metrics, "line"),
    }


def summary(results: pl.DataFrame) -> str:
    """Accuracy and error distance, beside the published accuracy."""
    means = averaged(results, ["scheme", "links", "locations", "points", "epsilon"], ("accuracy", "error"))
    rows = []
    for row in means.iter_rows(named=True):
        bare = row["scheme"] == NOTHING
        printed = PUBLISHED.get(row["points"], "") if bare else UNDER_DP if row["scheme"] != NOISE else ""
        epsilon = "–" if bare or row["scheme"] == NOISE else f"{row['epsilon']:g}"
        accuracy = f"{100 * row['accuracy']:.1f} ± {100 * row['accuracy_sd']:.1f} %"
        where = [NAMES.get(row["scheme"], row["scheme"]), row["links"], row["locations"], str(row["points"]), epsilon]
        rows.append([*where, accuracy, figure_cell(row, "error", 0), printed])
    head = ("scheme", "daytime links by", "cells listed", "points", "epsilon", "accuracy", "error (m)", "published")
    return markdown(head, rows, "lll")


def _grid() -> tuple[Row, ...]:
    shared: Row = {"calibration": "sound", "factor": 0.25}
    bare = [
        shared | {"scheme": NOTHING, "links": links, "locations": "all", "points": points, "epsilon": 0.0}
        for links in ("distance", "velocity")
        for points in POINTS
    ]
    noisy = [
        shared | {"scheme": scheme, "links": "distance", "locations": where, "points": POINTS[-1], "epsilon": epsilon}
        for where in ("all", "seen")
        for scheme in SCHEMES
        for epsilon in (EPSILONS if where == "all" else (1.0,))
    ]
    alone = [
        shared | {"scheme": NOISE, "links": "distance", "locations": where, "points": POINTS[-1], "epsilon": 0.0}
        for where in ("all", "seen")
    ]
    return (*bare, *noisy, *alone)


RECOVERY = Study(
    name="recovery",
    title="Trajectory recovery from counts, without noise and under privacy (Chen et al., Figs. 5–6)",
    grid=_grid(),
    load=load_days,
    once=once,
    figures=figures,
    summary=summary,
    repetitions=5,
)
