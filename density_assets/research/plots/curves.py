"""Curves and dots of errors: over a setting, weeks or people, one line per way to release."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from density_assets.publication.pictures import INK, plain_numbers
from density_assets.series import Floats

LABELS = {"mre": "MRE", "pc": "Pearson correlation", "emd": "EMD in metres", "jsd": "Jensen–Shannon divergence"}
LABELS |= {"mae": "MAE in people", "accuracy": "share of points recovered", "error": "mean error in metres"}
LABELS |= {"coverage": "95 % intervals that hold", "width": "width of 95 % intervals"}
LABELS |= {"near": "share within 1 km", "overlap": "share that counts hold"}
MARKS = "osD^vPX*<>hd"


def curves(
    table: pl.DataFrame,
    over: str,
    metrics: Sequence[str],
    line: str,
    *,
    over_label: str | None = None,
    log: Sequence[str] = (),
) -> Figure:
    """One panel per metric of a table made by `averaged`; lines are named by the column `line`.

    log: metrics that span orders of magnitude.
    """
    figure = Figure(figsize=(max(3.4 * len(metrics), 4.2), 3.3), layout="constrained")
    panels = figure.subplots(1, len(metrics), squeeze=False)[0]
    colors = colormaps["tab20"]  # pairs of a dark and a light colour: few lines take the dark ones
    names = table[line].unique(maintain_order=True).to_list()
    for axes, metric in zip(panels, metrics, strict=True):
        for number, name in enumerate(names):
            part = table.filter(pl.col(line) == name).sort(over)
            axes.errorbar(
                part[over],
                part[metric],
                part[f"{metric}_sd"],
                label=str(name),
                color=colors(number if len(names) > 10 else 2 * number),
                marker=MARKS[number % len(MARKS)],
                markersize=4,
                linewidth=1.2,
            )
        axes.set_xlabel(over_label or over, fontsize=9, color=INK)
        axes.set_title(LABELS.get(metric, metric), fontsize=10, color=INK, loc="left")
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        if metric in log:
            axes.set_yscale("log")
            plain_numbers(axes.yaxis)
    panels[-1].legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


REHEARSED = {"mre": "mean relative error\nof a cell and hour", "wrong": "visits too many or too few,\nof all visits"}


def over_weeks(table: pl.DataFrame) -> Figure:
    """Means with the range that came out, of a table with columns scheme, l, epsilon, week and both errors."""
    epsilons = table["epsilon"].unique().sort().to_list()
    figure = Figure(figsize=(max(2.9 * len(epsilons), 4.0) + 1.4, 5.0), layout="constrained")
    panels = figure.subplots(len(REHEARSED), len(epsilons), sharex=True, sharey="row", squeeze=False)
    for row, (name, label) in zip(panels, REHEARSED.items(), strict=True):
        for axes, epsilon in zip(row, epsilons, strict=True):
            _draw_ways(axes, table.filter(epsilon=epsilon), name)
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


def _draw_ways(axes: Axes, table: pl.DataFrame, name: str) -> None:
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


def over_people(table: pl.DataFrame, value: str, line: str, *, label: str, mark: float) -> Figure:
    """A value over `users`, one line per kind of city; `mark` is what it should not exceed."""
    epsilons = table["epsilon"].unique().sort().to_list()
    figure = Figure(figsize=(3.2 * len(epsilons), 3.3), layout="constrained")
    panels = figure.subplots(1, len(epsilons), sharey=True, squeeze=False)[0]
    for axes, epsilon in zip(panels, epsilons, strict=True):
        kinds = table.filter(epsilon=epsilon).group_by(line, maintain_order=True)
        for number, ((name,), part) in enumerate(kinds):
            colour, mark_of_kind = colormaps["tab10"](number), MARKS[number % len(MARKS)]
            axes.plot(part["users"], part[value], label=str(name), color=colour, marker=mark_of_kind, markersize=4)
        axes.axhline(mark, color=INK, linewidth=0.8, linestyle=":")
        axes.set_title(f"epsilon {epsilon:g}", fontsize=10, color=INK, loc="left")
        _scale(axes, table["users"].unique().sort().to_list())
    panels[0].set_ylabel(label, fontsize=9, color=INK)
    panels[-1].legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _scale(axes: Axes, users: list[int]) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    plain_numbers(axes.yaxis)
    axes.set_xticks(users, [f"{number / 1000:,.0f} k" for number in users], fontsize=7)
    axes.set_xticks([], minor=True)
    axes.set_xlabel("people", fontsize=9, color=INK)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


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


def story(truth: Floats, estimates: Mapping[str, tuple[Floats, Floats]], label: str, unit: str) -> Figure:
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
