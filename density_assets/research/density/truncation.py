"""How many visits to keep per user, and what the improvements bring (Acs & Castelluccia 2014, Figs. 6 to 8)."""

from itertools import product

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from density_assets.privacy.events import Laplace
from density_assets.privacy.noise import SimulatedNoise
from density_assets.privacy.published import laplace_scale
from density_assets.quality.accuracy import relative_errors
from density_assets.research.density.releases import label, released, score
from density_assets.research.density.week import OF_SAMPLES, SAMPLES, SampledWeek, load_samples
from density_assets.research.plots.curves import curves
from density_assets.research.published_metrics import js_divergence_of_totals
from density_assets.research.results import figure_cell, markdown
from density_assets.research.study import Row, Source, Study, averaged

EPSILONS = tuple(round(0.1 * step, 1) for step in range(1, 11))
METRICS = ("mre", "pc")
BY = ["scheme", "improved", "visits_per_user", "epsilon"]


def _grid(schemes: tuple[tuple[str, bool], ...], caps: tuple[int, ...]) -> tuple[Row, ...]:
    return tuple(
        {"scheme": scheme, "improved": improved, "calibration": "published", "visits_per_user": cap, "epsilon": epsilon}
        for (scheme, improved), cap, epsilon in product(schemes, caps, EPSILONS)
    )


def load_caps(source: Source) -> SampledWeek:
    """Every cap of Fig. 7, three samples each."""
    return load_samples(source, (10, 30, 168))


def score_cap(inputs: SampledWeek, point: Row, seed: int) -> list[Row]:
    """One release of one sample."""
    week = inputs.at(point["visits_per_user"], seed)
    return [score(week, released(week, point, seed))]


def _lines(results: pl.DataFrame) -> pl.DataFrame:
    means = averaged(results, BY, METRICS)
    names = [f"{label(row)}, l = {row['visits_per_user']}" for row in means.iter_rows(named=True)]
    return means.with_columns(line=pl.Series(names))


def _table(results: pl.DataFrame) -> str:
    means = _lines(results).filter(pl.col("epsilon").is_in([0.1, 0.3, 0.5, 1.0]))
    rows = [
        [row["line"], f"{row['epsilon']:g}", *(figure_cell(row, metric) for metric in METRICS)]
        for row in means.iter_rows(named=True)
    ]
    return markdown(("scheme", "epsilon", "MRE", "PC"), rows, "l")


def tabulate_caps(results: pl.DataFrame) -> str:
    """How far apart the caps are, beside what was printed."""
    means = averaged(results.filter(scheme="efpag"), BY, METRICS)
    spread = means.group_by("epsilon").agg((pl.col(metric).max() - pl.col(metric).min()) for metric in METRICS)
    mre, pc = (spread[metric].to_numpy().max() for metric in METRICS)
    text = (
        "EFPAG and LPA as published, l = 10, 30 and 168 visits kept per user; three samples of the visits take turns. "
        "Published: EFPAG changes by ±0.03 in MRE and PC over these l. Measured: at any one epsilon, MRE differs "
        f"between l by at most {mre:.3f} and PC by at most {pc:.3f}."
    )
    return text + "\n\n" + _table(results)


def tabulate_improvements(results: pl.DataFrame) -> str:
    """Mean differences over all epsilons, beside what was printed."""

    def mean(metric: str, **where: object) -> float:
        return float(results.filter(**where)[metric].mean())  # type: ignore[arg-type]  # numbers, not dates

    def gain(metric: str, better: dict[str, object], worse: dict[str, object]) -> str:
        return f"{mean(metric, **better) - mean(metric, **worse):+.3f}".replace("-", "−")

    efpag, efpa = {"scheme": "efpag", "improved": True}, {"scheme": "efpa", "improved": True}
    plain = {"scheme": "efpag", "improved": False}
    at30 = {"visits_per_user": 30}
    rows = [
        ["EFPAG against EFPA, MRE", "−0.03", gain("mre", efpag | at30, efpa | at30)],
        ["EFPAG against EFPA, PC", "+0.02", gain("pc", efpag | at30, efpa | at30)],
        ["EFPAG against EFPAG −, MRE", "−0.07", gain("mre", efpag | at30, plain | {"visits_per_user": 168})],
        ["EFPAG against EFPAG −, PC", "+0.01", gain("pc", efpag | at30, plain | {"visits_per_user": 168})],
    ]
    text = (
        "Gaussian against Laplace noise on the coefficients, and with and without the improvements of §5.4 (−), as "
        "published. Means over epsilon 0.1 to 1; EFPAG and EFPA with l = 30, EFPAG − with l = 168 as in the paper."
    )
    return "\n\n".join([text, markdown(("comparison", "published", "measured"), rows, "l"), _table(results)])


CAPS = Study(
    name="caps",
    title="Visits kept per user (Fig. 7)",
    grid=_grid((("efpag", True), ("lpa", True)), (10, 30, 168)),
    once=score_cap,
    figures=lambda _, results: {"caps": curves(_lines(results), "epsilon", METRICS, "line", log=("mre",))},
    summary=tabulate_caps,
    **(OF_SAMPLES | {"load": load_caps}),
)
IMPROVEMENTS = Study(
    name="improvements",
    title="Gaussian noise, and the improvements (Fig. 8)",
    grid=_grid((("efpag", False), ("efpag", True), ("efpa", True)), (30, 168)),
    once=score_cap,
    figures=lambda _, results: {"improvements": curves(_lines(results), "epsilon", METRICS, "line")},
    summary=tabulate_improvements,
    **(OF_SAMPLES | {"load": load_caps}),
)


# --- totals of towers ------------------------------------------------------------------------------------------------


TOTALS_EPSILONS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 2.0)
TOTALS_METRICS = ("jsd", "mre")


def load_totals(source: Source) -> SampledWeek:
    """Only the sampled visits are needed, no cap."""
    return load_samples(source, ())


def score_totals(inputs: SampledWeek, point: Row, seed: int) -> list[Row]:
    """Noisy frequencies of the towers, scaled to the noisy number of visits.

    Half of epsilon' is spent on the frequencies and half on the number of visits, as printed.
    """
    epsilon, noise = point["epsilon"], SimulatedNoise(seed)
    true, clamp = inputs.week.tower_visits, inputs.week.settings.privacy.visits_clamp
    exact, most = (inputs.sampled[seed % SAMPLES], 1) if point["sampling"] else (true, clamp)
    counted = np.asarray(exact, dtype=np.float64)
    noisy = noise.laplace(counted, Laplace("visits per tower", laplace_scale(2 * most, epsilon), most))
    visits = noise.laplace(
        np.array([float(inputs.week.visit_total)]), Laplace("visits", laplace_scale(2 * clamp, epsilon), clamp)
    ).item()
    frequencies = np.maximum(noisy, 0.0)
    totals = visits * frequencies / max(frequencies.sum(), 1.0)
    error = relative_errors(true[:, None], totals[:, None], gamma=1.0)
    return [{"jsd": js_divergence_of_totals(true, frequencies), "mre": float(error.mean())}]


def plot_totals(inputs: SampledWeek, results: pl.DataFrame) -> dict[str, Figure]:
    """JSD and MRE over epsilon'."""
    lines = averaged(results, ["sampling", "epsilon"], TOTALS_METRICS).with_columns(
        line=pl.when("sampling").then(pl.lit("one visit per user")).otherwise(pl.lit("all visits"))
    )
    return {"totals": curves(lines, "epsilon", TOTALS_METRICS, "line", over_label="epsilon'", log=TOTALS_METRICS)}


def tabulate_totals(results: pl.DataFrame) -> str:
    """Both ways side by side."""
    means = averaged(results, ["epsilon", "sampling"], TOTALS_METRICS)
    rows = []
    for (epsilon,), part in means.group_by("epsilon", maintain_order=True):
        with_, without = (part.filter(sampling=flag).row(0, named=True) for flag in (True, False))
        cells = [figure_cell(row, metric, 4) for metric in TOTALS_METRICS for row in (with_, without)]
        rows.append([f"{epsilon:g}", *cells])
    head = ("epsilon'", "JSD, sampled", "JSD, all visits", "MRE, sampled", "MRE, all visits")
    text = (
        "The visits of each tower over the week, from one sampled visit per user (noise Lap(2/epsilon')) and from all "
        "visits (Lap(2·clamp/epsilon'), where clamp is how many visits of a user are counted). The relative error is "
        "that of each tower's total, of at least one visit. Published, for epsilon' up to 2 (JSD) and 1 (MRE): "
        "sampling is clearly better, most of all at small epsilon'. Measured: sampling has the lower JSD at epsilon' "
        f"of {_where_sampling_wins(means, 'jsd')}, the lower MRE at {_where_sampling_wins(means, 'mre')}."
    )
    return text + "\n\n" + markdown(head, rows)


def _where_sampling_wins(means: pl.DataFrame, metric: str) -> str:
    pairs = means.pivot("sampling", index="epsilon", values=metric)
    won = pairs.filter(pl.col("true") < pl.col("false"))["epsilon"]
    return ", ".join(f"{epsilon:g}" for epsilon in won) or "none"


TOTALS_STUDY = Study(
    name="totals",
    title="Totals with and without sampling (Fig. 6)",
    grid=tuple({"epsilon": epsilon, "sampling": sampling} for epsilon in TOTALS_EPSILONS for sampling in (True, False)),
    once=score_totals,
    figures=plot_totals,
    summary=tabulate_totals,
    **(OF_SAMPLES | {"load": load_totals}),
)
