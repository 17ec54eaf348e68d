"""Errors over the size of a city, a panel for each epsilon."""

import polars as pl
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from density_assets.publication.pictures import INK, plain_numbers
from density_assets.research.plots.curves import MARKS


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
