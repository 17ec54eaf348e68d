"""Errors of weeks to come: a column for each epsilon, a row for each error, a line for each way to release."""

import polars as pl
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from density_assets.publication.pictures import INK
from density_assets.research.plots.curves import MARKS

LABELS = {"mre": "mean relative error\nof a cell and hour", "wrong": "visits too many or too few,\nof all visits"}


def over_weeks(table: pl.DataFrame) -> Figure:
    """Means with the range that came out, of a table with columns scheme, l, epsilon, week and both errors."""
    epsilons = table["epsilon"].unique().sort().to_list()
    figure = Figure(figsize=(max(2.9 * len(epsilons), 4.0) + 1.4, 5.0), layout="constrained")
    panels = figure.subplots(len(LABELS), len(epsilons), sharex=True, sharey="row", squeeze=False)
    for row, (name, label) in zip(panels, LABELS.items(), strict=True):
        for axes, epsilon in zip(row, epsilons, strict=True):
            _lines(axes, table.filter(epsilon=epsilon), name)
            axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
            axes.set_ylim(0, None)
        row[0].set_ylabel(label, fontsize=9, color=INK)
    for axes, epsilon in zip(panels[0], epsilons, strict=True):
        axes.set_title(f"epsilon {epsilon:g} a week", fontsize=10, color=INK, loc="left")
    for axes in panels[-1]:
        axes.set_xticks(table["week"].unique().sort().to_list())
        axes.set_xlabel("weeks released", fontsize=9, color=INK)
    names, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(names, labels, frameon=False, fontsize=8, loc="outside lower center", ncols=min(len(labels), 4))
    return figure


def _lines(axes: Axes, table: pl.DataFrame, name: str) -> None:
    ways = table.group_by("scheme", "l", maintain_order=True)
    for number, ((scheme, visits), part) in enumerate(ways):
        colour = colormaps["tab10"](number)
        part = part.sort("week")
        axes.fill_between(
            part["week"], part[f"{name}_low"], part[f"{name}_high"], color=colour, alpha=0.15, linewidth=0
        )
        axes.plot(
            part["week"],
            part[name],
            color=colour,
            marker=MARKS[number % len(MARKS)],
            markersize=4,
            linewidth=1.3,
            label=f"{scheme}, l = {visits}",
        )
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
