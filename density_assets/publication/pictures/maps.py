"""Maps of cells as PNG: outlines, values by colour, and the cover."""

from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import shapely
from numpy.typing import NDArray

from density_assets.publication.pictures.picture import INK, plain_numbers, png

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.figure import Figure
    from matplotlib.path import Path

UNDEFINED = "#d9d9d9"
TOWER_COLOUR, CELL_COLOUR = "#e08a3c", "#3b7dd8"
SCALE_BAR_M = 2_000


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
