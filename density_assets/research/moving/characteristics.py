"""When people move, and which window of the day is chosen (Chen et al., Figs. 2 and 4)."""

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from density_assets.privacy.noise import SimulatedNoise
from density_assets.publication.pictures import INK
from density_assets.research.moving.days import Streams, load_streams, recipe, release
from density_assets.research.results import markdown
from density_assets.research.study import Row, Study, averaged
from density_assets.schemes.moving.windows import distances

EPSILONS = (0.1, 0.5, 1.0)
HOPED = "the first point in the morning (7:00–10:00), the second in the afternoon (16:00–19:00)"


def once(streams: Streams, point: Row, seed: int) -> list[Row]:
    """The hours between which one release is drawn every time."""
    day = release(point["scheme"], streams.past, streams.today, recipe(streams.past, point), SimulatedNoise(seed))
    assert day.window is not None
    clock, gaps = streams.days.clock, distances(streams.today)
    inside = gaps[day.window.first : day.window.last]
    share = float(inside.sum() / gaps.sum())
    return [{"first": float(clock[day.window.first]), "last": float(clock[day.window.last]), "moves": share}]


def figures(streams: Streams, results: pl.DataFrame) -> dict[str, Figure]:
    """Distances of all days; today's, with the window that is chosen most often at epsilon 1."""
    return {"moving_distances": _distances(streams), "moving_division": _division(streams, results)}


def _distances(streams: Streams) -> Figure:
    figure, axes = _axes(streams)
    for number, day in enumerate((*streams.past, streams.today)):
        label = {0: "days before", len(streams.past): "today"}.get(number)
        colour = "#b3261e" if number == len(streams.past) else "#9db4c8"
        axes.plot(streams.days.clock[1:], distances(day), color=colour, linewidth=1.3, label=label)
    axes.legend(frameon=False, fontsize=8)
    return figure


def _division(streams: Streams, results: pl.DataFrame) -> Figure:
    figure, axes = _axes(streams)
    chosen = results.filter(calibration="sound", scheme="static_hybrid", epsilon=1.0)
    first, last = chosen.group_by("first", "last").len().sort("len", "first").row(-1)[:2]
    axes.axvspan(first, last, color="#3b7dd8", alpha=0.15, label="released every time")
    axes.plot(streams.days.clock[1:], distances(streams.today), color=INK, marker="o", markersize=4, linewidth=1.3)
    axes.legend(frameon=False, fontsize=8)
    return figure


def _axes(streams: Streams) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(6.4, 3.2), layout="constrained")
    axes = figure.add_subplot()
    axes.set_xlabel("hour of the day", fontsize=9, color=INK)
    axes.set_title("L1 distance from the histogram before", fontsize=10, color=INK, loc="left")
    axes.set_ylim(0, 1.1 * max(distances(day).max() for day in (*streams.past, streams.today)))
    axes.set_xticks(np.arange(np.ceil(streams.days.clock[0]), streams.days.clock[-1] + 1, 3))
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def summary(results: pl.DataFrame) -> str:
    """Where the windows begin and end, and which part of all movement they hold."""
    means = averaged(results, ["scheme", "calibration", "epsilon"], ("first", "last", "moves"))
    rows = [
        [
            row["scheme"],
            row["calibration"],
            f"{row['epsilon']:g}",
            f"{row['first']:.1f} ± {row['first_sd']:.1f}",
            f"{row['last']:.1f} ± {row['last_sd']:.1f}",
            f"{row['moves']:.0%}",
        ]
        for row in means.iter_rows(named=True)
    ]
    head = ("scheme", "calibration", "epsilon", "from hour", "to hour", "of all movement")
    return f"{markdown(head, rows, 'll')}\n\nThe paper hopes for {HOPED}."


MOVING_CHARACTERISTICS = Study(
    name="moving_characteristics",
    title="When people move, and how the day is divided (Chen et al., Figs. 2 and 4)",
    grid=tuple(
        {"scheme": scheme, "calibration": calibration, "epsilon": epsilon, "factor": 0.25}
        for scheme in ("static_hybrid", "dynamic_hybrid")
        for calibration in ("published", "sound")
        for epsilon in EPSILONS
    ),
    load=load_streams,
    once=once,
    figures=figures,
    summary=summary,
    about=lambda streams: streams.days.described,
    version=2,
)
