"""Pictures of attacks and defenses: distributions of AUC, privacy gain, privacy against utility, heat maps."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from density_assets.publication.pictures import INK
from density_assets.research.plots.curves import MARKS

Floats = NDArray[Any]


def distributions(panels: Mapping[str, Mapping[str, Floats]], allowed: float | None = None) -> Figure:
    """Cumulative distributions of AUC over victims, one panel per prior, one line per attack (Fig. 1).

    allowed: the largest mean that a promise allows, to be drawn as well.
    """
    figure = Figure(figsize=(3.3 * len(panels), 3.2), layout="constrained")
    for axes, (title, lines) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True):
        for name, values in lines.items():
            axes.ecdf(values, label=name)
        axes.axvline(0.5, color="#999999", linewidth=0.8, linestyle=":", label="guessing")
        if allowed is not None:
            axes.axvline(allowed, color="#d8503b", linewidth=0.9, linestyle="--", label="largest mean allowed")
        axes.set_xlim(0.2, 1.02)
        _titled(axes, title.replace("_", " "), "AUC of the attack", "share of victims")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False, fontsize=7)
    return figure


def gain_boxes(gains: Mapping[str, Mapping[str, Floats]]) -> Figure:
    """Privacy gain over victims for each parameter, one panel per defense (Fig. 7)."""
    columns = 6
    rows = -(-len(gains) // columns)
    figure = Figure(figsize=(2.0 * columns, 2.2 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, sharey=True).ravel()
    for axes, (name, boxes) in zip(panels, gains.items(), strict=False):
        axes.boxplot(list(boxes.values()), widths=0.6, flierprops={"markersize": 2}, medianprops={"color": "#3b7dd8"})
        axes.set_xticks(np.arange(1, len(boxes) + 1), list(boxes), fontsize=6, rotation=45)
        axes.set_ylim(-0.05, 1.05)
        _titled(axes, name, "", "")
    for axes in panels[len(gains) :]:
        axes.set_axis_off()
    figure.supylabel("privacy gain", fontsize=9, color=INK)
    return figure


def planes(points: Mapping[str, Mapping[str, tuple[Floats, Floats]]]) -> Figure:
    """Mean privacy gain against utility loss, one panel per metric, one mark per defense (Figs. 8–11).

    points: by metric and defense, losses and gains. Up and left is good.
    """
    columns = 3
    figure = Figure(figsize=(3.6 * columns, 2.9 * -(-len(points) // columns)), layout="constrained")
    panels = figure.subplots(-(-len(points) // columns), columns, squeeze=False, sharey=True).ravel()
    for axes, (metric, by_defense) in zip(panels, points.items(), strict=False):
        for number, (name, (loss, gain)) in enumerate(by_defense.items()):
            axes.plot(
                np.maximum(loss, 1e-4) if "MRE" in metric else loss,
                gain,
                MARKS[number % len(MARKS)],
                markersize=4,
                color=_colour(number),
                label=name,
            )
        if "MRE" in metric:
            axes.set_xscale("log")
        _titled(axes, metric, "utility loss", "privacy gain")
    for axes in panels[len(points) :]:
        axes.set_axis_off()
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False, fontsize=7)
    return figure


def heat_maps(maps: Mapping[str, Floats]) -> Figure:
    """Values by region of interest and hour, one panel each on one scale (Figs. 2, 4 and 6)."""
    figure = Figure(figsize=(3.2 * len(maps), 2.8), layout="constrained")
    most = max(float(values.max()) for values in maps.values())
    panels = figure.subplots(1, len(maps), squeeze=False)[0]
    for axes, (title, values) in zip(panels, maps.items(), strict=True):
        image = axes.imshow(values, aspect="auto", origin="lower", cmap="YlOrRd", vmin=0, vmax=most)
        _titled(axes, title, "hour of the week" + (", by popularity" if "sorted" in title else ""), "ROI")
        axes.grid(visible=False)
    figure.colorbar(image, ax=panels, shrink=0.8).ax.tick_params(labelsize=7)
    return figure


def frequencies(lines: Mapping[str, Floats]) -> Figure:
    """How often slots of the week are used, as shares of the most used one (Figs. 3 and 5)."""
    figure = Figure(figsize=(7.0, 2.4), layout="constrained")
    axes = figure.subplots()
    for (name, values), colour in zip(lines.items(), ("#3b7dd8", "#d8503b"), strict=False):
        axes.plot(values / max(values.max(), 1e-12), linewidth=1.0, label=name, color=colour)
    _titled(axes, "", "hour of the week", "normalised frequency")
    axes.legend(frameon=False, fontsize=7)
    return figure


def bars(values: Mapping[str, Sequence[float]], names: Sequence[str]) -> Figure:
    """Horizontal bars, one panel per column (tables 2 and 3)."""
    figure = Figure(figsize=(3.6 * len(names), 3.0), layout="constrained")
    panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    for number, (axes, name) in enumerate(zip(panels, names, strict=True)):
        axes.barh(list(values), [row[number] for row in values.values()], color="#3b7dd8")
        axes.tick_params(labelsize=7)
        _titled(axes, name, "", "")
    return figure


def _titled(axes: Any, title: str, x: str, y: str) -> None:
    axes.set_title(title, fontsize=9, color=INK, loc="left")
    axes.set_xlabel(x, fontsize=8, color=INK)
    axes.set_ylabel(y, fontsize=8, color=INK)
    axes.tick_params(labelsize=7)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def _colour(number: int) -> Any:
    import matplotlib as mpl

    return mpl.colormaps["tab20"](number % 20)
