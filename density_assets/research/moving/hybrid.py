"""Direct, threshold and hybrid perturbation: error over threshold and epsilon, before and after consistency.

Chen et al., Figs. 7–12. Figures of the paper have no numbers; what it says about them stands beside ours.
"""

from fractions import Fraction

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from density_assets.estimation.clustering import consistent
from density_assets.privacy.noise import SimulatedNoise
from density_assets.research.moving.days import NAMES, SCHEMES, Streams, load_streams, recipe, release
from density_assets.research.plots.curves import curves
from density_assets.research.published_metrics import mae_chen, mre_chen
from density_assets.research.results import figure_cell, markdown
from density_assets.research.study import Row, Study, averaged

FACTORS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
NEEDED, RELEASES = 0, (2, 3, 5, 9, 17)  # c: as many as T needs in the streams a scheme compares, or so many
EPSILONS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
CALIBRATIONS = ("published", "sound")
METRICS = ("mae", "mre")
EMPTY = "empty map"  # which says that nobody is anywhere
SAID = {
    "threshold": "threshold alone worsens as T falls, `direct` stays, the hybrids stay roughly the same",
    "epsilon": "all improve with epsilon, and the hybrids are clearly better than `direct` and `threshold` throughout",
    "consistency": "consistency helps always, most at small epsilon",
}


def once(streams: Streams, point: Row, seed: int) -> list[Row]:
    """One release of today, as drawn and made consistent, and what a map of nobody would err."""
    day = release(point["scheme"], streams.past, streams.today, recipe(streams.past, point), SimulatedNoise(seed))
    nobody = np.zeros_like(streams.today)
    empty = {"empty_mae": mae_chen(streams.today, nobody)}
    made = {"as drawn": day.released, "consistent": consistent(day.released, np.random.default_rng(seed)).astype(float)}
    return [
        {"counts": counts, "mae": mae_chen(streams.today, values), "mre": mre_chen(streams.today, values), **empty}
        for counts, values in made.items()
    ]


def about(streams: Streams) -> str:
    """Whose days are released."""
    return streams.days.described


def threshold_figures(streams: Streams, results: pl.DataFrame) -> dict[str, Figure]:
    """Figs. 7 and 8, and the same over c, which the paper does not name."""
    by_t, by_c = results.filter(releases=NEEDED), results.filter(pl.col("releases") != NEEDED)
    shown = {f"hybrid_threshold_{c}": _figure(by_t, "factor", "T / T̄", c, "as drawn") for c in CALIBRATIONS}
    label = "releases per stream (c)"
    return shown | {f"hybrid_releases_{c}": _figure(by_c, "releases", label, c, "as drawn") for c in CALIBRATIONS}


def epsilon_figures(streams: Streams, results: pl.DataFrame) -> dict[str, Figure]:
    """Figs. 9 to 12."""
    shown = {f"hybrid_epsilon_{c}": _figure(results, "epsilon", "epsilon", c, "as drawn") for c in CALIBRATIONS}
    return shown | {"hybrid_consistency": _consistency(results)}


def _figure(results: pl.DataFrame, over: str, over_label: str, calibration: str, counts: str) -> Figure:
    mine = results.filter(calibration=calibration, counts=counts)
    part = averaged(pl.concat([mine, _empty(mine)]), ["scheme", over], METRICS)
    lines = part.with_columns(line=pl.col("scheme").replace(NAMES))
    figure = curves(lines, over, METRICS, "line", over_label=over_label, log=METRICS)
    if over == "factor":
        for axes in figure.axes:
            axes.set_xscale("log", base=2)
            axes.set_xticks(FACTORS, [str(Fraction(factor)) for factor in FACTORS])
    return figure


def _empty(results: pl.DataFrame) -> pl.DataFrame:
    """The same points as if nothing had been released but a map of nobody; its MRE, at most 1, would squeeze theirs."""
    return results.with_columns(scheme=pl.lit(EMPTY), mae=pl.col("empty_mae"), mre=pl.lit(None, pl.Float64))


def _consistency(results: pl.DataFrame) -> Figure:
    chosen = results.filter(pl.col("scheme").is_in(["direct", "static_hybrid"]), calibration="sound")
    part = averaged(chosen, ["scheme", "counts", "epsilon"], METRICS)
    lines = part.with_columns(line=pl.col("scheme").replace(NAMES) + ", " + pl.col("counts"))
    return curves(lines, "epsilon", METRICS, "line", log=METRICS)


def threshold_summary(results: pl.DataFrame) -> str:
    """MAE and MRE at each threshold, and at each number of releases."""
    by_t, by_c = _table(results.filter(releases=NEEDED), "factor", FACTORS), _table(results, "releases", RELEASES)
    said = f"epsilon 0.8, as many releases as T needs. The paper: {SAID['threshold']}."
    below = "epsilon 0.8, T = T̄/4, so many releases per stream."
    return f"{by_t}\n\n{said}\n\n{by_c}\n\n{below}\n\n{beaten(results)}"


def epsilon_summary(results: pl.DataFrame) -> str:
    """MAE and MRE at some epsilons."""
    table = _table(results, "epsilon", (0.1, 0.5, 1.0))
    return f"{table}\n\nT = T̄/4. The paper: {SAID['epsilon']}; {SAID['consistency']}.\n\n{beaten(results)}"


def _table(results: pl.DataFrame, over: str, values: tuple[float, ...]) -> str:
    errors = (*METRICS, "empty_mae")
    means = averaged(results.filter(pl.col(over).is_in(values)), ["calibration", over, "scheme", "counts"], errors)
    rows = []
    for (calibration, value, scheme), part in means.group_by(["calibration", over, "scheme"], maintain_order=True):
        drawn, tidy = part.filter(counts="as drawn").to_dicts()[0], part.filter(counts="consistent").to_dicts()[0]
        empty = f"{drawn['empty_mae']:.4g}"
        cells = [figure_cell(drawn, "mae", 2), empty, figure_cell(drawn, "mre", 0)]
        cells += [figure_cell(tidy, "mae", 2), empty, figure_cell(tidy, "mre", 0)]
        rows.append([str(calibration), f"{value:g}", NAMES[str(scheme)], *cells])
    over_label = {"factor": "T / T̄", "releases": "c"}.get(over, over)
    head = ("calibration", over_label, "scheme", "MAE", EMPTY, "MRE", "consistent MAE", EMPTY, "MRE")
    return markdown(head, rows, "lll")


def beaten(results: pl.DataFrame) -> str:
    """Which releases a map of nobody beats, of all that were made."""
    point = ["calibration", "factor", "epsilon", "releases", "scheme", "counts"]
    means = averaged(results, point, ("mae", "empty_mae"))
    parts = []
    for (counts,), part in means.group_by("counts", maintain_order=True):
        worse = part.filter(pl.col("mae") >= pl.col("empty_mae"))
        parts.append(f"{len(worse)} of {len(part)} {counts}")
    error = f"{means['empty_mae'][0]:.4g}"
    return f"An empty map, which costs nothing, has a MAE of {error}. Releases that are no better: {', '.join(parts)}."


def _grid(
    factors: tuple[float, ...], epsilons: tuple[float, ...], releases: tuple[int, ...] = (NEEDED,)
) -> tuple[Row, ...]:
    return tuple(
        {"calibration": calibration, "factor": factor, "epsilon": epsilon, "releases": c, "scheme": scheme}
        for calibration in CALIBRATIONS
        for factor in factors
        for epsilon in epsilons
        for c in releases
        for scheme in SCHEMES
    )


HYBRID_THRESHOLD = Study(
    name="hybrid_threshold",
    title="Hybrid perturbation: error over the threshold T and the releases c (Chen et al., Figs. 7–8)",
    grid=(*_grid(FACTORS, (0.8,)), *_grid((0.25,), (0.8,), RELEASES)),
    load=load_streams,
    once=once,
    figures=threshold_figures,
    summary=threshold_summary,
    about=about,
    version=3,
)
HYBRID_EPSILON = Study(
    name="hybrid_epsilon",
    title="Hybrid perturbation: error over epsilon, and what consistency adds (Chen et al., Figs. 9–12)",
    grid=_grid((0.25,), EPSILONS),
    load=load_streams,
    once=once,
    figures=epsilon_figures,
    summary=epsilon_summary,
    about=about,
    version=3,
)
