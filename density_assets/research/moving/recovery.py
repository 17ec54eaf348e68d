"""How many trajectories the recovery attack finds, without noise and with (Chen et al., Figs. 5 and 6)."""

from dataclasses import replace

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from numpy.typing import NDArray

from density_assets.estimation.clustering import scaled_to
from density_assets.privacy.noise import SimulatedNoise
from density_assets.research.moving.days import NAMES, SCHEMES, Days, load_days, recipe, release
from density_assets.research.moving.recovery_attack import countable, link_day, overlap, score
from density_assets.research.plots.curves import curves
from density_assets.research.results import figure_cell, markdown
from density_assets.research.study import Row, Source, Study, averaged
from density_assets.schemes.moving.windows import histograms
from density_assets.series import Floats

PEOPLE = 1_000
POINTS = (5, 10, 13, 16, 19)
ALL = 0  # as many points as there are stamps
TAXI_HOUR, TAXI_POINTS = 8, 10  # half hours by day, as many as were published
EPSILONS = (0.1, 0.5, 1.0)
PER_STAMP = 19.0  # as if each stamp of the day had a budget of 1 for itself
NEAR = 1_000.0  # metres, two cells
PUBLISHED = {"crowd": {10: "78.9 %", 19: "61.0 %"}, "taxis": {5: "59.4 %", 10: "40.6 %"}}
UNDER_DP = {"crowd": "10–20 %"}
NOTHING, NOISE = "none", "noise alone"
STILL = "nobody moves"  # the mean of the day's exact histograms at every stamp: what regularity alone is worth
METRICS = ("accuracy", "near", "overlap", "error")


def load(source: Source) -> Days:
    """All stamps of the crowd; of taxis, some half hours of the day."""
    days = load_days(source)
    if days.source == "crowd":
        return days
    first = int(np.searchsorted(days.clock, TAXI_HOUR))
    shown = slice(first, first + TAXI_POINTS)
    return replace(days, cells=days.cells[:, :, shown], clock=days.clock[shown])


def once(days: Days, point: Row, seed: int) -> list[Row]:
    """The attack on the counts of some people, drawn with the seed; nothing where there are fewer stamps than asked."""
    stamps = point["points"] or len(days.clock)
    if stamps > len(days.clock):
        return []
    random = np.random.default_rng(seed)
    some = _some(days, stamps, random)
    some = some if point["locations"] == "all" else only_seen(some)
    truth, counts = some.cells[-1].astype(np.int64), _counts(some, point, seed, random)
    still = some.night if point["links"] == "velocity" else np.ones(stamps, dtype=bool)
    found = link_day(counts, some.xy, still)
    accuracy, error = score(truth, found, some.xy)
    near, _ = score(truth, found, some.xy, NEAR)
    shares = {"accuracy": accuracy, "near": near, "overlap": overlap(truth, counts)}
    return [{"source": days.source, "stamps": stamps, **shares, "error": error}]


def _some(days: Days, stamps: int, random: np.random.Generator) -> Days:
    """People who are seen all day, at the first stamps."""
    there = np.flatnonzero((days.cells[-1] >= 0).all(axis=1))
    people = random.choice(there, min(PEOPLE, len(there)), replace=False)
    return replace(days, cells=days.cells[:, people, :stamps], clock=days.clock[:stamps])


def only_seen(days: Days) -> Days:
    """The same people on a list of the cells they are in on the last day; elsewhere they are not counted."""
    seen = np.unique(days.cells[-1][days.cells[-1] >= 0])
    position = np.full(len(days.xy) + 1, -1, dtype=np.int32)  # the last for people who are nowhere, -1
    position[seen] = np.arange(len(seen))
    return replace(days, xy=days.xy[seen], cells=position[days.cells])


def _counts(days: Days, point: Row, seed: int, random: np.random.Generator) -> NDArray[np.int64]:
    """What the attacker sees, as whole counts of the people there are."""
    people, exact = days.cells.shape[1], histograms(days.cells[-1], len(days.xy))
    if point["scheme"] == NOTHING:
        return exact.astype(np.int64)
    if point["scheme"] == STILL:
        return np.repeat(scaled_to(exact.mean(axis=0, keepdims=True), people, random), len(exact), axis=0)
    return countable(_noisy(days, point, seed), people, random)


def _noisy(days: Days, point: Row, seed: int) -> Floats:
    *past, today = days.streams()
    if point["scheme"] == NOISE:
        return np.random.default_rng([seed, 1]).laplace(0, 1e6, today.shape)
    return release(point["scheme"], past, today, recipe(past, point), SimulatedNoise(seed)).released


def figures(days: Days, results: pl.DataFrame) -> dict[str, Figure]:
    """By number of points without noise, and by epsilon with noise."""
    bare = results.filter(pl.col("scheme").is_in([NOTHING, STILL]))
    bare = bare.with_columns(line=pl.when(scheme=STILL).then(pl.lit(STILL)).otherwise("links by " + pl.col("links")))
    noisy = results.filter(pl.col("epsilon").is_in(EPSILONS), locations="all", calibration="sound")
    noisy = noisy.with_columns(line=pl.col("scheme").replace(NAMES))
    without, under = (averaged(part, ["line", x], METRICS) for part, x in ((bare, "stamps"), (noisy, "epsilon")))
    points = "points of a trajectory"
    return {
        "recovery_without_noise": curves(without, "stamps", ("accuracy", "error"), "line", over_label=points),
        "recovery_under_dp": curves(under, "epsilon", METRICS[:3], "line"),
    }


def summary(results: pl.DataFrame) -> str:
    """Accuracy, exact and to a kilometre, beside what counts hold at all and the published accuracy."""
    by = ["source", "scheme", "calibration", "links", "locations", "stamps", "epsilon"]
    means = averaged(results, by, METRICS)
    rows = []
    for row in means.iter_rows(named=True):
        released = row["scheme"] in SCHEMES
        how = [row["calibration"], f"{row['epsilon']:g}"] if released else ["–", "–"]
        where = [NAMES.get(row["scheme"], row["scheme"]), row["links"], row["locations"], str(row["stamps"]), *how]
        shares = [f"{100 * row[metric]:.1f} ± {100 * row[metric + '_sd']:.1f} %" for metric in METRICS[:3]]
        rows.append([*where, *shares, figure_cell(row, "error", 0), _printed(row)])
    head = ("scheme", "daytime links by", "cells listed", "points", "calibration", "epsilon")
    found = ("accuracy", "within 1 km", "counts hold", "error (m)", "published")
    return markdown((*head, *found), rows, "lllrl")


def _printed(row: Row) -> str:
    """What the paper says of these people."""
    if row["scheme"] == NOTHING:
        return PUBLISHED[row["source"]].get(row["stamps"], "")
    return UNDER_DP.get(row["source"], "") if row["scheme"] in SCHEMES and row["epsilon"] in EPSILONS else ""


def _grid() -> tuple[Row, ...]:
    plain: Row = {"links": "distance", "locations": "all", "calibration": "sound", "factor": 0.25, "epsilon": 0.0}
    bare = [plain | {"scheme": NOTHING, "points": points} for points in POINTS]
    bare += [plain | {"scheme": NOTHING, "points": points, "links": "velocity"} for points in (5, 10, 19)]
    bare += [plain | {"scheme": STILL, "points": points} for points in (10, 19)]
    noisy = [
        plain | {"scheme": scheme, "points": ALL, "locations": where, "calibration": calibration, "epsilon": epsilon}
        for where, calibration, epsilons in (
            ("all", "sound", EPSILONS),
            ("all", "published", (1.0,)),
            ("seen", "sound", (1.0,)),
            ("seen", "published", (1.0,)),
        )
        for scheme in SCHEMES
        if calibration == "sound" or scheme != "direct"  # which is published as it must be
        for epsilon in (*epsilons, *([PER_STAMP] if scheme == "direct" else []))
    ]
    alone = [plain | {"scheme": NOISE, "points": ALL, "locations": where} for where in ("all", "seen")]
    return (*bare, *noisy, *alone)


RECOVERY = Study(
    name="recovery",
    title="Trajectory recovery from counts, without noise and under privacy (Chen et al., Figs. 5–6)",
    grid=_grid(),
    load=load,
    once=once,
    figures=figures,
    summary=summary,
    about=lambda days: days.described,
    repetitions=5,
    version=3,
)
