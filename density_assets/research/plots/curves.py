"""Curves and dots of errors: over a setting, weeks or people, one line per way to release."""

from collections.abc import Mapping, Sequence
from typing import Any

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
REHEARSED = {"mre": "mean relative error\nof a cell and hour", "wrong": "visits too many or too few,\nof all visits"}
MARKS = "osD^vPX*<>hd"


def panels(rows: int, columns: int, width: float, height: float, **options: Any) -> tuple[Figure, list[Axes]]:
    """Return a figure and its panels, row by row. width, height: of the figure, in inches."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, list(figure.subplots(rows, columns, squeeze=False, **options).flat)


def dress(axes: Axes, title: str = "", x: str = "", y: str = "", *, grid: bool = True) -> None:
    """Name a panel and its axes, as in all pictures of studies."""
    axes.set_title(title, fontsize=10, color=INK, loc="left")
    axes.set_xlabel(x, fontsize=9, color=INK)
    axes.set_ylabel(y, fontsize=9, color=INK)
    axes.tick_params(which="both", labelsize=8)
    if grid:
        axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def legend_beside(axes: Axes) -> None:
    """Put the legend right of a panel."""
    axes.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))


def legend_below(figure: Figure, axes: Axes, columns: int) -> None:
    """Put the legend of one panel below all of them."""
    names, labels = axes.get_legend_handles_labels()
    figure.legend(names, labels, frameon=False, fontsize=8, loc="outside lower center", ncols=columns)


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
    figure, all_axes = panels(1, len(metrics), max(3.4 * len(metrics), 4.2), 3.3)
    colours = colormaps["tab20"]  # pairs of a dark and a light colour: few lines take the dark ones
    names = table[line].unique(maintain_order=True).to_list()
    for axes, metric in zip(all_axes, metrics, strict=True):
        for number, name in enumerate(names):
            part = table.filter(pl.col(line) == name).sort(over)
            colour = colours(number if len(names) > 10 else 2 * number)
            style: dict[str, Any] = {"marker": MARKS[number % len(MARKS)], "markersize": 4, "linewidth": 1.2}
            axes.errorbar(part[over], part[metric], part[f"{metric}_sd"], label=str(name), color=colour, **style)
        dress(axes, LABELS.get(metric, metric), over_label or over)
        if metric in log:
            axes.set_yscale("log")
            plain_numbers(axes.yaxis)
    legend_beside(all_axes[-1])
    return figure


def over_weeks(table: pl.DataFrame) -> Figure:
    """Errors of weeks to come: a column for each epsilon, a row for each error, a line for each way to release.

    table: means with the range that came out, by scheme, l, epsilon and week.
    """
    epsilons = table["epsilon"].unique().sort().to_list()
    columns = len(epsilons)
    figure, all_axes = panels(len(REHEARSED), columns, max(2.9 * columns, 4.0) + 1.4, 5.0, sharex=True, sharey="row")
    for row, (name, label) in enumerate(REHEARSED.items()):
        for column, epsilon in enumerate(epsilons):
            axes = all_axes[row * columns + column]
            _draw_ways(axes, table.filter(epsilon=epsilon), name)
            top, left, bottom = row == 0, column == 0, row == len(REHEARSED) - 1
            title = f"epsilon {epsilon:g} a week" if top else ""
            dress(axes, title, "weeks released" if bottom else "", label if left else "")
            axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
            axes.set_ylim(0, None)
            axes.set_xticks(table["week"].unique().sort().to_list())
    legend_below(figure, all_axes[0], 4)
    return figure


def _draw_ways(axes: Axes, table: pl.DataFrame, name: str) -> None:
    for number, ((scheme, visits), part) in enumerate(table.group_by("scheme", "l", maintain_order=True)):
        colour, part = colormaps["tab10"](number), part.sort("week")
        low, high = part[f"{name}_low"], part[f"{name}_high"]
        axes.fill_between(part["week"], low, high, color=colour, alpha=0.15, linewidth=0)
        style: dict[str, Any] = {"marker": MARKS[number % len(MARKS)], "markersize": 4, "linewidth": 1.3}
        axes.plot(part["week"], part[name], color=colour, label=f"{scheme}, l = {visits}", **style)


def over_people(table: pl.DataFrame, value: str, line: str, *, label: str, mark: float) -> Figure:
    """A value over `users`, a panel for each epsilon, a line per kind of city; it should not exceed `mark`."""
    epsilons, users = (table[name].unique().sort().to_list() for name in ("epsilon", "users"))
    figure, all_axes = panels(1, len(epsilons), 3.2 * len(epsilons), 3.3, sharey=True)
    for number_of_panel, (axes, epsilon) in enumerate(zip(all_axes, epsilons, strict=True)):
        kinds = table.filter(epsilon=epsilon).group_by(line, maintain_order=True)
        for number, ((name,), part) in enumerate(kinds):
            colour, mark_of_kind = colormaps["tab10"](number), MARKS[number % len(MARKS)]
            axes.plot(part["users"], part[value], label=str(name), color=colour, marker=mark_of_kind, markersize=4)
        axes.axhline(mark, color=INK, linewidth=0.8, linestyle=":")
        axes.set_xscale("log")
        axes.set_yscale("log")
        plain_numbers(axes.yaxis)
        dress(axes, f"epsilon {epsilon:g}", "people", label if number_of_panel == 0 else "")
        axes.set_xticks(users, [f"{number / 1000:,.0f} k" for number in users], fontsize=7)
        axes.set_xticks([], minor=True)
    legend_beside(all_axes[-1])
    return figure


def dots(
    table: pl.DataFrame, row: str, value: str, line: str, *, label: str, mark: float | None = None, log: bool = False
) -> Figure:
    """A value of each row, by the column `line`, with its standard deviation; `mark` is where it should be."""
    names, lines = table[row].unique(maintain_order=True).to_list(), table[line].unique(maintain_order=True).to_list()
    figure, (axes,) = panels(1, 1, 7.2, 0.9 + 0.34 * len(names))
    places = {name: len(names) - 1 - number for number, name in enumerate(names)}
    for number, name in enumerate(lines):
        part = table.filter(pl.col(line) == name)
        beside = 0.5 * (0.5 - (number + 0.5) / len(lines))  # marks of one row do not hide each other
        height = [places[each] + beside for each in part[row]]
        style: dict[str, Any] = {"fmt": MARKS[number % len(MARKS)], "markersize": 4.5, "linewidth": 1}
        colour = colormaps["tab10"](number % 10)
        axes.errorbar(part[value], height, xerr=part[f"{value}_sd"], label=str(name), color=colour, **style)
    if mark is not None:
        axes.axvline(mark, color=INK, linewidth=0.8, linestyle=":")
    if log:
        axes.set_xscale("log")
        plain_numbers(axes.xaxis)
    dress(axes, x=label, grid=False)
    axes.set_yticks(list(places.values()), list(places), color=INK)
    axes.grid(axis="x", alpha=0.3)
    legend_beside(axes)
    return figure


def story(truth: Floats, estimates: Mapping[str, tuple[Floats, Floats]], label: str, unit: str) -> Figure:
    """A series as it was and as each estimate tells it, with the 95 % interval of the first."""
    figure, (axes,) = panels(1, 1, 7.2, 2.9)
    steps, colours = np.arange(len(truth)), colormaps["tab10"]
    for number, (name, (values, half_width)) in enumerate(estimates.items()):
        if number == 0:
            low, high = values - half_width, values + half_width
            axes.fill_between(steps, low, high, color=colours(0), alpha=0.18, linewidth=0)
        axes.plot(steps, values, color=colours(number), linewidth=1.3, label=name)
    axes.plot(steps, truth, color=INK, linewidth=1.3, linestyle="--", label="truth")
    axes.xaxis.set_major_locator(MaxNLocator(12, integer=True))
    dress(axes, x=unit, y=label, grid=False)
    axes.legend(frameon=False, fontsize=7)
    return figure
