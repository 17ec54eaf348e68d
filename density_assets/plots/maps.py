"""Maps of cells as PNG: outlines, values by colour, and the cover."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import shapely
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.path import Path
from numpy.typing import NDArray

from density_assets.plots.picture import INK, png

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
    figure, axes = _map(title)
    positive = values[values > 0]
    norm = LogNorm(positive.min(), positive.max()) if len(positive) and positive.min() < positive.max() else Normalize()
    shapes = _shapes(polygons, edgecolor="white", linewidth=0.15)
    shapes.set(array=np.where(values > 0, values, np.nan), norm=norm, cmap="viridis")
    axes.add_collection(shapes)
    figure.colorbar(shapes, ax=axes, label=label, shrink=0.7)
    return _finished(figure, axes, polygons)


def map_grid(polygons: NDArray[np.object_], maps: Mapping[str, NDArray[np.float64]]) -> Figure:
    """Several maps in two columns, each column on one scale: errors left, correlations right (Fig. 11)."""
    rows = (len(maps) + 1) // 2
    figure = Figure(figsize=(8.4, 2.9 * rows), layout="constrained")
    grid = figure.subplots(rows, 2, squeeze=False)
    for position, (title, values) in enumerate(maps.items()):
        axes, column = grid[position // 2, position % 2], list(maps.values())[position % 2 :: 2]
        low, high = np.nanquantile(np.concatenate(column), (0.01, 0.99))
        shapes = _shapes(polygons, edgecolor="white", linewidth=0.1)
        shapes.set(array=values, norm=Normalize(low, high), cmap="viridis_r" if position % 2 == 0 else "viridis")
        axes.add_collection(shapes)
        axes.autoscale_view()
        axes.set_aspect("equal")
        axes.axis("off")
        axes.set_title(title, fontsize=9, color=INK, loc="left")
        figure.colorbar(shapes, ax=axes, shrink=0.8)
    return figure


def cover_map(towers: NDArray[np.object_], cells: NDArray[np.object_], title: str) -> bytes:
    """The cells of the cover by kind; a tower cell counts what no cell of the cover takes from it."""
    figure, axes = _map(title)
    kinds = (("tower cells", towers, TOWER_COLOUR), ("cells", cells, CELL_COLOUR))
    for name, polygons, colour in kinds:
        axes.add_collection(_shapes(polygons, facecolor=colour, edgecolor="white", linewidth=0.4))
        axes.scatter([], [], marker="s", color=colour, label=f"{len(polygons)} {name}")
    axes.legend(loc="lower left", frameon=False, fontsize=8)
    return _finished(figure, axes, np.concatenate([towers, cells]))


def _map(title: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(title, fontsize=10, color=INK, loc="left")
    axes.set_aspect("equal")
    axes.axis("off")
    return figure, axes


def _finished(figure: Figure, axes: Axes, polygons: NDArray[np.object_]) -> bytes:
    left, bottom, right, top = shapely.total_bounds(polygons)
    axes.set_xlim(left, right)
    axes.set_ylim(bottom - 0.04 * (top - bottom), top)
    axes.plot([right - SCALE_BAR_M, right], [bottom, bottom], color=INK, linewidth=2, solid_capstyle="butt")
    axes.text(right - SCALE_BAR_M / 2, bottom, "2 km", ha="center", va="bottom", fontsize=7, color=INK)
    return png(figure)


def _shapes(polygons: NDArray[np.object_], **style: Any) -> PathCollection:
    return PathCollection([_path(polygon) for polygon in polygons], **style)


def _path(polygon: Any) -> Path:
    """A polygon with its parts and holes as one path."""
    parts = shapely.get_parts(polygon)
    rings = [ring for part in parts for ring in (part.exterior, *part.interiors)]
    return Path.make_compound_path(*(Path(shapely.get_coordinates(ring), closed=True) for ring in rings))
