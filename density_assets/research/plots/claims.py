"""Bars of lower bounds on epsilon beside what was claimed."""

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from density_assets.publication.pictures import INK

COLOURS = ("#4477aa", "#66ccee", "#ccbb44", "#ee6677")
CLAIM = "#aa3377"


def bars_beside_claims(results: pl.DataFrame) -> Figure:
    """One panel per calibration and epsilon, a group of bars per scheme, a bar per canary.

    results: calibration, epsilon (the claim), scheme, canary, bound, and gaussian_bound where it applies.
    """
    parts = results.partition_by(["calibration", "epsilon"], maintain_order=True)
    figure = Figure(figsize=(9.5, 2.9 * ((len(parts) + 1) // 2)), layout="constrained")
    panels = figure.subplots((len(parts) + 1) // 2, 2, squeeze=False).reshape(-1)
    for axes, part in zip(panels, parts, strict=False):
        _panel(axes, part)
    for axes in panels[len(parts) :]:
        axes.set_visible(False)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=8)
    return figure


def _panel(axes: Axes, part: pl.DataFrame) -> None:
    schemes, canaries = (part[name].unique(maintain_order=True).to_list() for name in ("scheme", "canary"))
    claim, width = part["epsilon"][0], 0.8 / len(canaries)
    for number, (canary, colour) in enumerate(zip(canaries, COLOURS, strict=False)):
        mine = part.filter(canary=canary).group_by("scheme", maintain_order=True).agg(pl.col("^.*bound$").max())
        where = np.arange(len(schemes)) + (number + 0.5) * width - 0.4
        axes.bar(where, mine["bound"], width, color=colour, label=canary)
        gaussian = mine["gaussian_bound"].cast(pl.Float64).fill_null(np.nan)
        label = "Gaussian mechanisms" if number == len(canaries) - 1 else None
        axes.scatter(where, gaussian, marker="D", s=14, color=INK, label=label, zorder=3)
    axes.axhline(claim, color=CLAIM, linestyle="--", linewidth=1.2, label="claim")
    axes.set_xticks(range(len(schemes)), schemes, fontsize=7, rotation=30, ha="right", rotation_mode="anchor")
    axes.set_ylim(0, 1.15 * max(claim, part["bound"].max(), part["gaussian_bound"].cast(pl.Float64).max() or 0.0))
    axes.set_title(f"{part['calibration'][0]}, epsilon {claim:g}", fontsize=10, color=INK, loc="left")
    axes.set_ylabel("epsilon is at least", fontsize=9, color=INK)
    axes.spines[["top", "right"]].set_visible(False)
