"""Error against what an attacker gains, a mark per technique; and tracks before and after they were made alike."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray

from density_assets.publication.pictures import INK

APPROACHES = {"queries": ("#4477aa", "s"), "trajectories": ("#ee6677", "^"), "density": ("#228833", "o")}
POINTS, LETTER, LINE = 72.0, 3.9, 8.0  # per inch; width of a letter and height of a line of names, in points
SHIFTS = [sign * step for step in range(0, 400, 4) for sign in (1, -1)]
BY_CHANCE = 0.12  # two standard errors of what is measured where nothing can be gained
PROMISED = "a user's week"


def errors_against_gains(table: pl.DataFrame) -> Figure:
    """One mark per technique: filled where a user's week is protected.

    table: technique, approach, protects, mre, gain; means over repetitions.
    """
    figure = Figure(figsize=(8.2, 5.4), layout="constrained")
    axes = figure.add_subplot()
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
    axes.set_title(
        "Error against what the best of four attacks gains, at epsilon 1", fontsize=10, color=INK, loc="left"
    )
    axes.axvspan(-0.05, BY_CHANCE, color="#999999", alpha=0.12, linewidth=0)
    axes.annotate("by chance", (BY_CHANCE, 0.01), (-2, 0), textcoords="offset points", fontsize=7, ha="right")
    axes.set_xlabel("gain: 0 nothing, 1 certainty", fontsize=9, color=INK)
    axes.set_ylabel("mean relative error of cells and hours", fontsize=9, color=INK)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
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
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.add_subplot()
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
    axes.set_xlabel("noise / √n of counts over n visits; dotted: noise that keeps a promise", fontsize=9, color=INK)
    axes.set_ylabel("share of visits reconstructed", fontsize=9, color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="lower left")
    return figure


def tracks_before_and_after(before: NDArray[np.float64], after: NDArray[np.float64]) -> Figure:
    """Two maps side by side: tracks (people, hours, x and y in metres) as they were, and as they would be published."""
    figure = Figure(figsize=(9.0, 4.4), layout="constrained")
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    corner = np.nanmin(before, axis=(0, 1))
    for axes, tracks, title in zip(panels, (before, after), ("as they were", "as published"), strict=True):
        lines = [(track[~np.isnan(track).any(axis=1)] - corner) / 1_000 for track in tracks]
        axes.add_collection(LineCollection(lines, linewidths=0.4, alpha=0.35, colors=INK))
        axes.autoscale()
        axes.set_aspect("equal")
        axes.set_title(f"{len(lines):,} tracks {title}", fontsize=10, color=INK, loc="left")
        axes.set_xlabel("km", fontsize=9, color=INK)
        axes.set_ylabel("km", fontsize=9, color=INK)
        axes.spines[["top", "right"]].set_visible(False)
    return figure
