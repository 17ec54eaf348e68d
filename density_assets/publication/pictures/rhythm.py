"""The rhythm of a week: totals by hour."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from density_assets.calendar import HOURS
from density_assets.publication.pictures.picture import INK, plain_numbers, png

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def week_rhythm(title: str, **series: NDArray[np.float64]) -> bytes:
    """One line per named series of 168 totals."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 2.8))
    axes = figure.add_axes((0.1, 0.1, 0.88, 0.79))  # given, as those of maps
    for name, totals in series.items():
        axes.plot(np.arange(HOURS), totals, label=name, linewidth=1.2)
    axes.set_title(title, fontsize=10, color=INK, loc="left")
    week_axis(axes)
    axes.legend(frameon=False, fontsize=8)
    return png(figure)


def series_panels(
    panels: Mapping[str, NDArray[np.float64]], original: NDArray[np.float64], truncated: NDArray[np.float64]
) -> "Figure":
    """Releases of one cell: per panel a first draw and the band of all draws, with the truth behind them."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 1.9 * len(panels)), layout="constrained")
    rows = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (name, draws) in zip(rows, panels.items(), strict=True):
        hours = np.arange(HOURS)
        axes.fill_between(hours, *np.quantile(draws, (0.05, 0.95), axis=0), color="#3b7dd8", alpha=0.25, linewidth=0)
        axes.plot(hours, draws[0], color="#3b7dd8", linewidth=1.0, label="released")
        axes.plot(hours, original, color="#777777", linewidth=1.0, label="original")
        axes.plot(hours, truncated, color="#b3261e", linewidth=0.9, linestyle=":", label="truncated")
        axes.set_title(name, fontsize=9, color=INK, loc="left")
        week_axis(axes)
        axes.set_ylim(0, 1.6 * original.max())  # the noise of some schemes would hide the rest
        axes.legend(frameon=False, fontsize=7, ncols=3, loc="upper right")
    return figure


def week_axis(axes: "Axes", *, log: bool = False) -> None:
    """Hours of a week, ticked by day; values from zero up, or on a logarithmic scale."""
    axes.set_xticks(np.arange(0, HOURS, 24), DAYS, ha="left")
    axes.set_xlim(0, HOURS - 1)
    if log:
        axes.set_yscale("log")
        plain_numbers(axes.yaxis)
    else:
        axes.set_ylim(bottom=0)
    axes.grid(axis="x", alpha=0.4)
    axes.spines[["top", "right"]].set_visible(False)
