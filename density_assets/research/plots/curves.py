"""Curves with error bars: metrics over a setting, one line per scheme."""

from collections.abc import Sequence

import polars as pl
from matplotlib import colormaps
from matplotlib.figure import Figure

from density_assets.publication.pictures import INK, plain_numbers

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
