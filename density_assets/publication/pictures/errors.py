"""Pictures of how far releases are from the truth: over the week, and from cell to cell."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from density_assets.publication.pictures.picture import INK, png
from density_assets.publication.pictures.rhythm import week_axis

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
LABELS = ("relative error", "EMD in metres")
COLOURS = ("#3b7dd8", "#e08a3c", "#3a9d5d", "#b3261e", "#7a5ba6", "#777777")


def errors_over_week(relative_error: Mapping[str, Floats], emd: Mapping[str, Floats]) -> "Figure":
    """Relative error and EMD of each hour, gaps where undefined (Acs & Castelluccia, Fig. 9).

    One line per name; several are on a logarithmic scale, because schemes differ by orders of magnitude.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.9), layout="constrained")
    panels = figure.subplots(2, 1, sharex=True)
    several = len(relative_error) > 1
    for axes, lines, label in zip(panels, (relative_error, emd), LABELS, strict=True):
        for colour, (name, values) in zip(COLOURS, lines.items(), strict=False):
            alone = "." if np.isnan(values).any() else None  # a value between two gaps has no line
            axes.plot(values, color=colour, linewidth=1.2, label=name, marker=alone, markersize=3)
        axes.set_ylabel(label, fontsize=8, color=INK)
        week_axis(axes, log=several)
    if several:
        handles, names = panels[0].get_legend_handles_labels()
        figure.legend(handles, names, frameon=False, fontsize=7, ncols=3, loc="outside upper center")
    return figure


def errors_by_hour_of_day(relative_error: Floats, emd: Floats) -> "Figure":
    """Relative error and EMD of each hour of the day, gaps where undefined."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 2.6), layout="constrained")
    for axes, values, label in zip(figure.subplots(1, 2), (relative_error, emd), LABELS, strict=True):
        axes.bar(np.arange(len(values)), values, color=COLOURS[0])
        axes.set_xticks(np.arange(0, len(values), 4))
        axes.set_xlabel("hour of the day", fontsize=8, color=INK)
        axes.set_ylabel(label, fontsize=8, color=INK)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def box_plots(**groups: Floats) -> bytes:
    """How metrics spread over cells or hours; one box per name, each with its own scale."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2.2 * len(groups), 2.8), layout="constrained")
    panels = figure.subplots(1, len(groups), squeeze=False)[0]
    for axes, (name, values) in zip(panels, groups.items(), strict=True):
        axes.boxplot(values[np.isfinite(values)], widths=0.5, flierprops={"markersize": 2})
        axes.set_title(name, fontsize=9, color=INK)
        axes.set_xticks([])
        axes.spines[["top", "right"]].set_visible(False)
    return png(figure)


def boxes_over(metrics: Mapping[str, Mapping[str, Mapping[float, Floats]]]) -> "Figure":
    """How metrics spread over cells for each epsilon (Fig. 10): one row per metric, one column per scheme."""
    schemes = list(next(iter(metrics.values())))
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2.7 * len(schemes), 2.6 * len(metrics)), layout="constrained")
    grid = figure.subplots(len(metrics), len(schemes), squeeze=False, sharey="row")
    for row, (metric, of) in zip(grid, metrics.items(), strict=True):
        for axes, name in zip(row, schemes, strict=True):
            epsilons = sorted(of[name])
            axes.boxplot(
                [of[name][epsilon] for epsilon in epsilons],
                tick_labels=[f"{epsilon:g}" for epsilon in epsilons],
                medianprops={"color": "#b3261e"},
                flierprops={"marker": ".", "markersize": 1, "alpha": 0.3, "rasterized": True},
            )
            axes.set_title(name, fontsize=9, color=INK, loc="left")
            axes.grid(axis="y", alpha=0.3)
            axes.spines[["top", "right"]].set_visible(False)
        row[0].set_ylabel(metric.upper(), fontsize=9, color=INK)
    for axes in grid[-1]:
        axes.set_xlabel("epsilon", fontsize=9, color=INK)
    return figure
