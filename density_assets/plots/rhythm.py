"""The rhythm of a week: totals by hour."""

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from density_assets.calendar import HOURS
from density_assets.plots.picture import INK, png

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def week_rhythm(title: str, **series: NDArray[np.float64]) -> bytes:
    """One line per named series of 168 totals."""
    figure = Figure(figsize=(7.2, 2.8), layout="constrained")
    axes = figure.add_subplot()
    for name, totals in series.items():
        axes.plot(np.arange(HOURS), totals, label=name, linewidth=1.2)
    axes.set_title(title, fontsize=10, color=INK, loc="left")
    axes.set_xticks(np.arange(0, HOURS, 24), DAYS, ha="left")
    axes.set_xlim(0, HOURS - 1)
    axes.set_ylim(bottom=0)
    axes.grid(axis="x", alpha=0.4)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    return png(figure)
