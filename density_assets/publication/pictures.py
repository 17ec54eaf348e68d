"""Pictures of tables as PNG, for the web UI and for studies: maps of cells, the rhythm of a week, errors.

Pictures load Matplotlib when they are drawn: it takes half a second, which every start of the graph would pay for.
"""

import io
from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import shapely
from numpy.typing import NDArray

from density_assets.calendar import HOURS
from density_assets.series import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.collections import PathCollection
    from matplotlib.figure import Figure
    from matplotlib.path import Path


INK = "#22303c"
UNDEFINED = "#d9d9d9"
TOWER_COLOUR, CELL_COLOUR = "#e08a3c", "#3b7dd8"
SCALE_BAR_M = 2_000
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
LABELS = ("relative error", "EMD in metres")
COLOURS = ("#3b7dd8", "#e08a3c", "#3a9d5d", "#b3261e", "#7a5ba6", "#777777")


def plain_numbers(axis: "Axis") -> None:
    """Label a logarithmic axis with numbers as people write them."""
    from matplotlib.ticker import LogLocator

    axis.set_minor_locator(LogLocator(subs=(2, 3, 5, 7)))
    axis.set_major_formatter("{x:,.10g}")
    axis.set_minor_formatter("{x:,.10g}")


def png(figure: "Figure") -> bytes:
    """The figure as a PNG small enough to live in the UI's metadata."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110, metadata={"Software": None})
    return buffer.getvalue()


def outline_map(polygons: NDArray[np.object_], title: str, points: NDArray[np.float64] | None = None) -> bytes:
    """Outlines of cells, with the points that made them."""
    figure, axes = _map(title)
    axes.add_collection(_shapes(polygons, facecolor="#dfe9f5", edgecolor="#5b7fa6", linewidth=0.5))
    if points is not None:
        axes.scatter(points[:, 0], points[:, 1], s=1.5, color="#b3261e", zorder=3)
    return _finished(figure, axes, polygons)


def value_map(polygons: NDArray[np.object_], values: NDArray[np.float64], title: str, label: str) -> bytes:
    """Cells coloured by value, on a logarithmic scale where values are positive."""
    from matplotlib.colors import LogNorm, Normalize

    figure, axes = _map(title)
    positive = values[values > 0]
    norm = LogNorm(positive.min(), positive.max()) if len(positive) and positive.min() < positive.max() else Normalize()
    shapes = _shapes(polygons, edgecolor="white", linewidth=0.15)
    shapes.set(array=np.where(values > 0, values, np.nan), norm=norm, cmap="viridis")
    axes.add_collection(shapes)
    figure.colorbar(shapes, ax=axes, label=label, shrink=0.7)
    return _finished(figure, axes, polygons)


def metric_map(polygons: NDArray[np.object_], values: NDArray[np.float64], metric: str, title: str) -> bytes:
    """Cells coloured by their MRE or PC."""
    figure, axes = _map(title)
    shapes = _shapes(polygons, edgecolor="white", linewidth=0.15)
    shapes.set(array=values, **_judged(metric, values))
    axes.add_collection(shapes)
    _legend(figure, axes, shapes, metric)
    return _finished(figure, axes, polygons)


def metric_maps(polygons: NDArray[np.object_], maps: Mapping[str, Mapping[str, NDArray[np.float64]]]) -> "Figure":
    """A row of maps for each name, a column for each metric; a column has one scale (Fig. 11)."""
    from matplotlib.figure import Figure

    metrics = list(next(iter(maps.values())))
    colours = {metric: _judged(metric, np.concatenate([of[metric] for of in maps.values()])) for metric in metrics}
    figure = Figure(figsize=(4.2 * len(metrics), 2.9 * len(maps)), layout="constrained")
    grid = figure.subplots(len(maps), len(metrics), squeeze=False)
    for (name, metric), axes in zip(product(maps, metrics), grid.flat, strict=True):
        shapes = _shapes(polygons, edgecolor="white", linewidth=0.1)
        shapes.set(array=maps[name][metric], **colours[metric])
        axes.add_collection(shapes)
        axes.autoscale_view()
        _bare(axes, f"{name}: {metric}")
        _legend(figure, axes, shapes)
    return figure


def _judged(metric: str, values: NDArray[np.float64]) -> dict[str, Any]:
    """Yellow is good and grey undefined: errors on a logarithmic scale, correlations from 0 to 1."""
    from matplotlib import colormaps
    from matplotlib.colors import LogNorm, Normalize

    if metric == "PC":
        return {"norm": Normalize(0, 1, clip=True), "cmap": colormaps["viridis"].with_extremes(bad=UNDEFINED)}
    seen = values[values > 0]  # false for nan
    low, high = np.quantile(seen, (0.01, 0.99)) if len(seen) else (0.1, 1.0)
    norm = LogNorm(low, max(high, 1.01 * low), clip=True)
    return {"norm": norm, "cmap": colormaps["viridis_r"].with_extremes(bad=UNDEFINED)}


def _legend(figure: "Figure", axes: "Axes", shapes: "PathCollection", label: str = "") -> None:
    from matplotlib.colors import LogNorm

    bar = figure.colorbar(shapes, ax=axes, label=label, shrink=0.8)
    if isinstance(shapes.norm, LogNorm):
        plain_numbers(bar.ax.yaxis)


def cover_map(towers: NDArray[np.object_], cells: NDArray[np.object_], title: str) -> bytes:
    """The cells of the cover by kind; a tower cell counts what no cell of the cover takes from it."""
    figure, axes = _map(title)
    kinds = (("tower cells", towers, TOWER_COLOUR), ("cells", cells, CELL_COLOUR))
    for name, polygons, colour in kinds:
        axes.add_collection(_shapes(polygons, facecolor=colour, edgecolor="white", linewidth=0.4))
        axes.scatter([], [], marker="s", color=colour, label=f"{len(polygons)} {name}")
    axes.legend(loc="lower left", frameon=False, fontsize=8)
    return _finished(figure, axes, np.concatenate([towers, cells]))


def _map(title: str) -> "tuple[Figure, Axes]":
    from matplotlib.figure import Figure

    # Margins are given: to have them found draws every map twice, and there are six in a release.
    figure = Figure(figsize=(6.4, 4.4))
    axes = figure.add_axes((0.01, 0.02, 0.98, 0.89))
    _bare(axes, title)
    return figure, axes


def _bare(axes: "Axes", title: str) -> None:
    axes.set_title(title, fontsize=10, color=INK, loc="left")
    axes.set_aspect("equal")
    axes.axis("off")


def _finished(figure: "Figure", axes: "Axes", polygons: NDArray[np.object_]) -> bytes:
    left, bottom, right, top = shapely.total_bounds(polygons)
    axes.set_xlim(left, right)
    axes.set_ylim(bottom - 0.04 * (top - bottom), top)
    axes.plot([right - SCALE_BAR_M, right], [bottom, bottom], color=INK, linewidth=2, solid_capstyle="butt")
    axes.text(right - SCALE_BAR_M / 2, bottom, "2 km", ha="center", va="bottom", fontsize=7, color=INK)
    return png(figure)


def _shapes(polygons: NDArray[np.object_], **style: Any) -> "PathCollection":
    from matplotlib.collections import PathCollection

    return PathCollection([_path(polygon) for polygon in polygons], **style)


def _path(polygon: Any) -> "Path":
    """A polygon with its parts and holes as one path."""
    from matplotlib.path import Path

    parts = shapely.get_parts(polygon)
    rings = [ring for part in parts for ring in (part.exterior, *part.interiors)]
    return Path.make_compound_path(*(Path(shapely.get_coordinates(ring), closed=True) for ring in rings))


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
