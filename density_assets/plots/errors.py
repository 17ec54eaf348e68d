"""Pictures of how far a release is from the truth: over the week, and from cell to cell."""

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from density_assets.calendar import HOURS
from density_assets.plots.picture import INK, png
from density_assets.plots.rhythm import DAYS

HOURS_OF_DAY = 24


def error_over_week(relative_error: NDArray[np.float64], emd: NDArray[np.float64]) -> bytes:
    """Mean relative error and EMD of each hour, with gaps where undefined (Acs & Castelluccia 2014, Fig. 9)."""
    figure = Figure(figsize=(7.2, 4.2), layout="constrained")
    for axes, values, label in zip(
        figure.subplots(2, 1, sharex=True), (relative_error, emd), ("relative error", "EMD in metres"), strict=True
    ):
        axes.plot(np.arange(HOURS), values, color="#3b7dd8", linewidth=1.2)
        axes.set_ylabel(label, fontsize=8, color=INK)
        axes.set_xticks(np.arange(0, HOURS, HOURS_OF_DAY), DAYS, ha="left")
        axes.set_xlim(0, HOURS - 1)
        axes.set_ylim(bottom=0)
        axes.grid(axis="x", alpha=0.4)
        axes.spines[["top", "right"]].set_visible(False)
    return png(figure)


def box_plots(**groups: NDArray[np.float64]) -> bytes:
    """How metrics spread over cells or hours (Fig. 10); one box per name, each with its own scale."""
    figure = Figure(figsize=(2.2 * len(groups), 2.8), layout="constrained")
    panels = figure.subplots(1, len(groups), squeeze=False)[0]
    for axes, (name, values) in zip(panels, groups.items(), strict=True):
        axes.boxplot(values[np.isfinite(values)], widths=0.5, flierprops={"markersize": 2})
        axes.set_title(name, fontsize=9, color=INK)
        axes.set_xticks([])
        axes.spines[["top", "right"]].set_visible(False)
    return png(figure)
