"""Totals of towers with and without sampling one visit per user (Acs & Castelluccia 2014, Fig. 6)."""

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from density_assets.privacy.events import Laplace
from density_assets.privacy.noise import SimulatedNoise
from density_assets.privacy.published import laplace_scale
from density_assets.quality.accuracy import relative_errors
from density_assets.research.density.releases import CHOSEN
from density_assets.research.density.resampling import SAMPLES, SampledWeek, load_samples
from density_assets.research.density.week import TABLES, bounds
from density_assets.research.markdown_tables import figure_cell, markdown
from density_assets.research.plots.curves import curves
from density_assets.research.published_metrics import js_divergence_of_totals
from density_assets.research.study import Row, Source, Study, averaged

EPSILONS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 2.0)
METRICS = ("jsd", "mre")


def load(source: Source) -> SampledWeek:
    """Only the sampled visits are needed, no cap."""
    return load_samples(source, ())


def once(inputs: SampledWeek, point: Row, seed: int) -> list[Row]:
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


def figures(inputs: SampledWeek, results: pl.DataFrame) -> dict[str, Figure]:
    """JSD and MRE over epsilon'."""
    lines = averaged(results, ["sampling", "epsilon"], METRICS).with_columns(
        line=pl.when("sampling").then(pl.lit("one visit per user")).otherwise(pl.lit("all visits"))
    )
    return {"totals": curves(lines, "epsilon", METRICS, "line", over_label="epsilon'", log=METRICS)}


def summary(results: pl.DataFrame) -> str:
    """Both ways side by side."""
    means = averaged(results, ["epsilon", "sampling"], METRICS)
    rows = []
    for (epsilon,), part in means.group_by("epsilon", maintain_order=True):
        with_, without = (part.filter(sampling=flag).row(0, named=True) for flag in (True, False))
        cells = [figure_cell(row, metric, 4) for metric in METRICS for row in (with_, without)]
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
    grid=tuple({"epsilon": epsilon, "sampling": sampling} for epsilon in EPSILONS for sampling in (True, False)),
    load=load,
    once=once,
    figures=figures,
    summary=summary,
    about=lambda inputs: bounds(inputs.week),
    weekly=True,
    tables=("visits", *TABLES),
    chooses=CHOSEN,
)
