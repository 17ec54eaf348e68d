"""Pictures of attacks: what they gain, from whom, under which defense, and what they show of a claim."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray

from density_assets.publication.pictures import INK
from density_assets.research.plots.curves import MARKS, dress, legend_below, panels

Floats = NDArray[Any]


def distributions(by_prior: Mapping[str, Mapping[str, Floats]], allowed: float | None = None) -> Figure:
    """Cumulative distributions of AUC over victims, one panel per prior, one line per attack (Fig. 1).

    allowed: the largest mean that a promise allows, to be drawn as well.
    """
    figure, all_axes = panels(1, len(by_prior), 3.3 * len(by_prior), 3.2)
    for axes, (title, lines) in zip(all_axes, by_prior.items(), strict=True):
        for name, values in lines.items():
            axes.ecdf(values, label=name)
        axes.axvline(0.5, color="#999999", linewidth=0.8, linestyle=":", label="guessing")
        if allowed is not None:
            axes.axvline(allowed, color="#d8503b", linewidth=0.9, linestyle="--", label="largest mean allowed")
        axes.set_xlim(0.2, 1.02)
        dress(axes, title.replace("_", " "), "AUC of the attack", "share of victims")
    legend_below(figure, all_axes[-1], 4)
    return figure


def gain_boxes(gains: Mapping[str, Mapping[str, Floats]]) -> Figure:
    """Privacy gain over victims for each parameter, one panel per defense (Fig. 7)."""
    columns = 6
    rows = -(-len(gains) // columns)
    figure, all_axes = panels(rows, columns, 2.0 * columns, 2.2 * rows, sharey=True)
    for axes, (name, boxes) in zip(all_axes, gains.items(), strict=False):
        dress(axes, name)
        axes.boxplot(list(boxes.values()), widths=0.6, flierprops={"markersize": 2}, medianprops={"color": "#3b7dd8"})
        axes.set_xticks(np.arange(1, len(boxes) + 1), list(boxes), fontsize=6, rotation=45)
        axes.set_ylim(-0.05, 1.05)
    for axes in all_axes[len(gains) :]:
        axes.set_axis_off()
    figure.supylabel("privacy gain", fontsize=9, color=INK)
    return figure


def planes(points: Mapping[str, Mapping[str, tuple[Floats, Floats]]]) -> Figure:
    """Mean privacy gain against utility loss, one panel per metric, one mark per defense (Figs. 8–11).

    points: by metric and defense, losses and gains. Up and left is good.
    """
    columns = 3
    rows = -(-len(points) // columns)
    figure, all_axes = panels(rows, columns, 3.6 * columns, 2.9 * rows, sharey=True)
    for axes, (metric, by_defense) in zip(all_axes, points.items(), strict=False):
        for number, (name, (loss, gain)) in enumerate(by_defense.items()):
            x = np.maximum(loss, 1e-4) if "MRE" in metric else loss
            colour = colormaps["tab20"](number % 20)
            axes.plot(x, gain, MARKS[number % len(MARKS)], markersize=4, color=colour, label=name)
        if "MRE" in metric:
            axes.set_xscale("log")
        dress(axes, metric, "utility loss", "privacy gain")
    for axes in all_axes[len(points) :]:
        axes.set_axis_off()
    handles, labels = all_axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False, fontsize=7)
    return figure


def heat_maps(maps: Mapping[str, Floats]) -> Figure:
    """Values by region of interest and hour, one panel each on one scale (Figs. 2, 4 and 6)."""
    figure, all_axes = panels(1, len(maps), 3.2 * len(maps), 2.8)
    most = max(float(values.max()) for values in maps.values())
    for axes, (title, values) in zip(all_axes, maps.items(), strict=True):
        image = axes.imshow(values, aspect="auto", origin="lower", cmap="YlOrRd", vmin=0, vmax=most)
        dress(axes, title, "hour of the week" + (", by popularity" if "sorted" in title else ""), "ROI", grid=False)
    figure.colorbar(image, ax=all_axes, shrink=0.8).ax.tick_params(labelsize=7)
    return figure


def frequencies(lines: Mapping[str, Floats]) -> Figure:
    """How often slots of the week are used, as shares of the most used one (Figs. 3 and 5)."""
    figure, (axes,) = panels(1, 1, 7.0, 2.4)
    for (name, values), colour in zip(lines.items(), ("#3b7dd8", "#d8503b"), strict=False):
        axes.plot(values / max(values.max(), 1e-12), linewidth=1.0, label=name, color=colour)
    dress(axes, x="hour of the week", y="normalised frequency")
    axes.legend(frameon=False, fontsize=7)
    return figure


def bars(values: Mapping[str, Sequence[float]], names: Sequence[str]) -> Figure:
    """Horizontal bars, one panel per column (tables 2 and 3)."""
    figure, all_axes = panels(1, len(names), 3.6 * len(names), 3.0, sharey=True)
    for number, (axes, name) in enumerate(zip(all_axes, names, strict=True)):
        axes.barh(list(values), [row[number] for row in values.values()], color="#3b7dd8")
        dress(axes, name)
    return figure


COLOURS = ("#4477aa", "#66ccee", "#ccbb44", "#ee6677")
CLAIM = "#aa3377"


def bars_beside_claims(results: pl.DataFrame) -> Figure:
    """One panel per calibration and epsilon, a group of bars per scheme, a bar per canary.

    results: calibration, epsilon (the claim), scheme, canary, bound, and gaussian_bound where it applies.
    """
    parts = results.partition_by(["calibration", "epsilon"], maintain_order=True)
    rows = (len(parts) + 1) // 2
    figure, all_axes = panels(rows, 2, 9.5, 2.9 * rows)
    for axes, part in zip(all_axes, parts, strict=False):
        _panel(axes, part)
    for axes in all_axes[len(parts) :]:
        axes.set_visible(False)
    legend_below(figure, all_axes[0], len(COLOURS) + 2)
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
    dress(axes, f"{part['calibration'][0]}, epsilon {claim:g}", y="epsilon is at least", grid=False)
    axes.set_xticks(range(len(schemes)), schemes, fontsize=7, rotation=30, ha="right", rotation_mode="anchor")
    axes.set_ylim(0, 1.15 * max(claim, part["bound"].max(), part["gaussian_bound"].cast(pl.Float64).max() or 0.0))


APPROACHES = {"queries": ("#4477aa", "s"), "trajectories": ("#ee6677", "^"), "density": ("#228833", "o")}
POINTS, LETTER, LINE = 72.0, 3.9, 8.0  # per inch; width of a letter and height of a line of names, in points
SHIFTS = [sign * step for step in range(0, 400, 4) for sign in (1, -1)]
BY_CHANCE = 0.12  # two standard errors of what is measured where nothing can be gained
PROMISED = "a user's week"


def errors_against_gains(table: pl.DataFrame) -> Figure:
    """One mark per technique: filled where a user's week is protected.

    table: technique, approach, protects, mre, gain; means over repetitions.
    """
    figure, (axes,) = panels(1, 1, 8.2, 5.4)
    title = "Error against what the best of four attacks gains, at epsilon 1"
    dress(axes, title, "gain: 0 nothing, 1 certainty", "mean relative error of cells and hours")
    for approach, (colour, mark) in APPROACHES.items():
        for protects in (True, False):
            part = table.filter((pl.col("approach") == approach) & ((pl.col("protects") == PROMISED) == protects))
            label = f"{approach}{'' if protects else ', weaker or no promise'}"
            face = colour if protects else "none"
            axes.scatter(part["gain"], part["mre"], s=46, marker=mark, facecolor=face, edgecolor=colour, label=label)
    axes.set_yscale("symlog", linthresh=0.1, linscale=0.4)
    axes.set_yticks([0, 0.05, 0.1, 0.2, 0.5, 1, 2, 5])
    axes.set_yticks([], minor=True)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xlim(-0.05, 1.18)
    _label(axes, table)
    axes.axvspan(-0.05, BY_CHANCE, color="#999999", alpha=0.12, linewidth=0)
    axes.annotate("by chance", (BY_CHANCE, 0.01), (-2, 0), textcoords="offset points", fontsize=7, ha="right")
    legend_below(figure, axes, 3)
    return figure


def _label(axes: Axes, table: pl.DataFrame) -> None:
    """Names beside their marks, moved up or down until none lies on another."""
    taken: list[tuple[float, float, float]] = []  # left, right and height of names, in points
    for row in table.sort("gain", "mre").iter_rows(named=True):
        x, y = axes.transData.transform((row["gain"], row["mre"])) * POINTS / axes.figure.dpi
        width = LETTER * len(row["technique"])
        shift = next(s for s in SHIFTS if not any(_meet((x + 6, x + 6 + width, y + s), other) for other in taken))
        taken.append((x + 6, x + 6 + width, y + shift))
        line = {"arrowstyle": "-", "linewidth": 0.4, "color": INK} if abs(shift) > LINE else None
        where = (row["gain"], row["mre"])
        axes.annotate(row["technique"], where, (6, shift), textcoords="offset points", fontsize=7, arrowprops=line)


def _meet(one: tuple[float, float, float], other: tuple[float, float, float]) -> bool:
    return one[0] < other[1] and other[0] < one[1] and abs(one[2] - other[2]) < LINE


def bits_by_noise(
    ratios: Sequence[float], curves: Mapping[str, NDArray[np.float64]], ours: Mapping[str, float]
) -> Figure:
    """Share of bits that attacks reconstruct over noise/√n; vertical lines where private noise lies."""
    figure, (axes,) = panels(1, 1, 6.4, 3.6)
    about_noise = "noise / √n of counts over n visits; dotted: noise that keeps a promise"
    dress(axes, x=about_noise, y="share of visits reconstructed", grid=False)
    for (name, shares), (colour, mark) in zip(curves.items(), APPROACHES.values(), strict=False):
        axes.plot(ratios, shares, color=colour, marker=mark, markersize=4, label=name)
    for name, ratio in ours.items():
        axes.axvline(ratio, color=INK, linewidth=0.8, linestyle=":")
        axes.annotate(name, (ratio, 0.98), (3, 0), textcoords="offset points", fontsize=7, color=INK)
    axes.axhline(0.5, color=INK, linewidth=0.6, alpha=0.5)
    axes.set_xscale("log")
    axes.set_xticks([0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10])
    axes.set_xticks([], minor=True)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlim(0.015, 40)
    axes.legend(frameon=False, fontsize=8, loc="lower left")
    return figure


def tracks_before_and_after(before: NDArray[np.float64], after: NDArray[np.float64]) -> Figure:
    """Two maps side by side: tracks (people, hours, x and y in metres) as they were, and as they would be published."""
    figure, all_axes = panels(1, 2, 9.0, 4.4, sharex=True, sharey=True)
    corner = np.nanmin(before, axis=(0, 1))
    for axes, tracks, title in zip(all_axes, (before, after), ("as they were", "as published"), strict=True):
        lines = [(track[~np.isnan(track).any(axis=1)] - corner) / 1_000 for track in tracks]
        axes.add_collection(LineCollection(lines, linewidths=0.4, alpha=0.35, colors=INK))
        axes.autoscale()
        axes.set_aspect("equal")
        dress(axes, f"{len(lines):,} tracks {title}", "km", "km", grid=False)
    return figure
