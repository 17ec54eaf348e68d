"""Dots in rows: one row per thing tried, one mark per way of doing it; and what an estimate made of one change."""

from collections.abc import Mapping

import numpy as np
import polars as pl
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from density_assets.publication.pictures import INK, plain_numbers
from density_assets.research.plots.curves import MARKS

Floats = NDArray[np.float64]


def dots(
    table: pl.DataFrame, row: str, value: str, line: str, *, label: str, mark: float | None = None, log: bool = False
) -> Figure:
    """A value of each row, by the column `line`, with its standard deviation; `mark` is where it should be."""
    names, lines = table[row].unique(maintain_order=True).to_list(), table[line].unique(maintain_order=True).to_list()
    figure = Figure(figsize=(7.2, 0.9 + 0.34 * len(names)), layout="constrained")
    axes = figure.subplots()
    places = {name: len(names) - 1 - number for number, name in enumerate(names)}
    colours = colormaps["tab10"]
    for number, name in enumerate(lines):
        part = table.filter(pl.col(line) == name)
        beside = 0.5 * (0.5 - (number + 0.5) / len(lines))  # marks of one row do not hide each other
        height = [places[each] + beside for each in part[row]]
        axes.errorbar(
            part[value],
            height,
            xerr=part[f"{value}_sd"],
            label=str(name),
            fmt=MARKS[number % len(MARKS)],
            color=colours(number % 10),
            markersize=4.5,
            linewidth=1,
        )
    axes.set_yticks(list(places.values()), list(places), fontsize=8, color=INK)
    if mark is not None:
        axes.axvline(mark, color=INK, linewidth=0.8, linestyle=":")
    if log:
        axes.set_xscale("log")
        plain_numbers(axes.xaxis)
    axes.tick_params(axis="x", which="both", labelsize=8)
    axes.set_xlabel(label, fontsize=9, color=INK)
    axes.grid(axis="x", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def told(truth: Floats, estimates: Mapping[str, tuple[Floats, Floats]], label: str, unit: str) -> Figure:
    """A series as it was and as each estimate tells it, with the 95 % interval of the first."""
    figure = Figure(figsize=(7.2, 2.9), layout="constrained")
    axes = figure.subplots()
    steps = np.arange(len(truth))
    colours = colormaps["tab10"]
    for number, (name, (values, half_width)) in enumerate(estimates.items()):
        if number == 0:
            axes.fill_between(
                steps, values - half_width, values + half_width, color=colours(0), alpha=0.18, linewidth=0
            )
        axes.plot(steps, values, color=colours(number), linewidth=1.3, label=name)
    axes.plot(steps, truth, color=INK, linewidth=1.3, linestyle="--", label="truth")
    axes.xaxis.set_major_locator(MaxNLocator(12, integer=True))
    axes.tick_params(labelsize=8)
    axes.set_xlabel(unit, fontsize=9, color=INK)
    axes.set_ylabel(label, fontsize=9, color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=7)
    return figure
