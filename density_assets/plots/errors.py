"""Pictures of how far releases are from the truth: over the week, and from cell to cell."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from density_assets.plots.picture import INK, png
from density_assets.plots.rhythm import week_axis

Floats = NDArray[np.float64]
COLOURS = ("#3b7dd8", "#e08a3c", "#3a9d5d", "#b3261e", "#7a5ba6", "#777777")


def errors_over_week(relative_error: Mapping[str, Floats], emd: Mapping[str, Floats]) -> Figure:
    """Relative error and EMD of each hour, one line per name, gaps where undefined (Acs & Castelluccia, Fig. 9)."""
    figure = Figure(figsize=(7.2, 4.6), layout="constrained")
    labels = ("relative error", "EMD in metres")
    for axes, lines, label in zip(figure.subplots(2, 1, sharex=True), (relative_error, emd), labels, strict=True):
        for colour, (name, values) in zip(COLOURS, lines.items(), strict=False):
            axes.plot(values, color=colour, linewidth=1.2, label=name)
        axes.set_ylabel(label, fontsize=8, color=INK)
        week_axis(axes)
        if len(lines) > 1:
            top = 3 * min(np.nanquantile(values, 0.9) for values in lines.values())
            axes.set_ylim(0, max(top, max(np.nanmedian(values) for values in lines.values())))
            axes.legend(framealpha=0.9, edgecolor="none", fontsize=7, ncols=2, loc="upper right")
    return figure


def box_plots(**groups: Floats) -> bytes:
    """How metrics spread over cells or hours; one box per name, each with its own scale."""
    figure = Figure(figsize=(2.2 * len(groups), 2.8), layout="constrained")
    panels = figure.subplots(1, len(groups), squeeze=False)[0]
    for axes, (name, values) in zip(panels, groups.items(), strict=True):
        axes.boxplot(values[np.isfinite(values)], widths=0.5, flierprops={"markersize": 2})
        axes.set_title(name, fontsize=9, color=INK)
        axes.set_xticks([])
        axes.spines[["top", "right"]].set_visible(False)
    return png(figure)


def boxes_over(metrics: Mapping[str, Mapping[str, Mapping[float, Floats]]]) -> Figure:
    """How metrics spread over cells for each epsilon (Fig. 10): one row per metric, one column per scheme."""
    schemes = list(next(iter(metrics.values())))
    figure = Figure(figsize=(2.7 * len(schemes), 2.6 * len(metrics)), layout="constrained")
    grid = figure.subplots(len(metrics), len(schemes), squeeze=False, sharey="row")
    for row, (metric, of) in zip(grid, metrics.items(), strict=True):
        for axes, name in zip(row, schemes, strict=True):
            epsilons = sorted(of[name])
            values = [of[name][epsilon][np.isfinite(of[name][epsilon])] for epsilon in epsilons]
            axes.boxplot(values, tick_labels=[f"{e:g}" for e in epsilons], medianprops={"color": "#b3261e"}, sym="")
            axes.set_title(name, fontsize=9, color=INK, loc="left")
            axes.grid(axis="y", alpha=0.3)
            axes.spines[["top", "right"]].set_visible(False)
        row[0].set_ylabel(metric.upper(), fontsize=9, color=INK)
    for axes in grid[-1]:
        axes.set_xlabel("epsilon", fontsize=9, color=INK)
    return figure
