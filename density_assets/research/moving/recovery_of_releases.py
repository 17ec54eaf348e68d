"""The recovery attack on releases of every scheme.

At most a thousand people: an assignment of two million to two million is not feasible, for the auditor as for the
attacker. People of a simulated crowd are at one tower of a small city in every hour of a week; the release is made by
the steps of the pipeline, and the attack reads its density per cell, scaled to the people there are. A release is
rounded besides; that hides people where cells have one or none, as here, but not in a city: the audit does without.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from numpy.typing import NDArray

from density_assets.estimation.clustering import scaled_to
from density_assets.geography.overlaps import overlaps, tower_cells
from density_assets.geography.places import Places, minimum_cover
from density_assets.geography.source import embedded_city
from density_assets.publication.pictures import INK
from density_assets.research.contributions import bound_week
from density_assets.research.density.releases import released
from density_assets.research.density.week import KnownWeek
from density_assets.research.moving.recovery_attack import recover, score
from density_assets.research.results import figure_cell, markdown
from density_assets.research.study import Row, Source, Study, averaged
from density_assets.research.traces.matrix import Traces, binary
from density_assets.research.weeks.crowd import crowd
from density_assets.schemes import SCHEMES
from density_assets.schemes.moving.windows import histograms
from density_assets.settings import Settings

PEOPLE, CELLS, TOWERS, SEED = 400, 500, 650, 11
DAYS, HOURS = 7, tuple(range(24))
EPSILONS = (0.3, 3.0)
EXACT, RAW, OTHERS = "cells of all people", "counts without noise", "cells of other people"
MEAN = "weekly means without noise"  # the same in every hour: how much the score rewards who stays at home


@dataclass(frozen=True)
class Population:
    """A week of the city, and the cell each person is in, hour by hour (people, 168).

    others: as many other people of the same city. Their counts tell nothing of anyone in `cells`, so what the attack
    seems to find in them is what everybody knows of the city, and the floor for releases.
    """

    week: KnownWeek
    cells: NDArray[np.int64]
    others: NDArray[np.int64]


def load(source: Source) -> Population:
    """The same small city for everyone."""
    return population(PEOPLE, CELLS, TOWERS)


def population(people: int, cells: int, towers: int) -> Population:
    """People who are at one tower every hour of a week, counted as the pipeline counts them."""
    areas, masts = embedded_city(cells=cells, towers=towers, seed=SEED)
    shapes = tower_cells(masts.xy, areas.city)
    pieces = overlaps(shapes, areas.polygons)
    places = Places(pieces, minimum_cover(pieces), masts.xy, shapes, areas.polygons)
    at = np.hstack(list(crowd(people, DAYS, SEED, masts.xy, HOURS).cells)).astype(np.int64)
    # Of a crowd twice as large the first half would live where these do, the second half lives elsewhere.
    others = np.hstack(list(crowd(2 * people, DAYS, SEED, masts.xy, HOURS).cells[:, people:])).astype(np.int64)
    cell_of = np.asarray(places.to_cells("towers").argmax(axis=0)).ravel()
    return Population(_counted(at, places, areas.centroids, len(masts.xy)), cell_of[at], cell_of[others])


def _counted(at: NDArray[np.int64], places: Places, centroids: NDArray[np.float64], towers: int) -> KnownWeek:
    """Return the bounded visits of people who are seen every hour."""
    settings, (people, hours) = Settings(), at.shape
    matrix = binary(
        np.repeat(np.arange(people), hours), (at * hours + np.arange(hours)).ravel(), (people, towers * hours)
    )
    traces = Traces(matrix, np.arange(people), hours, places.tower_xy)
    counted = bound_week(traces, settings, np.random.default_rng(SEED)).count_everybody(places)
    original = traces.aggregate().astype(np.float64)
    return KnownWeek(
        **vars(counted),
        settings=settings,
        centroids=centroids,
        truth=places.to_cells("towers") @ original,
        tower_visits=original.sum(axis=1),
    )


def once(population: Population, point: Row, seed: int) -> list[Row]:
    """Attack one release, or what a release without noise would be."""
    week, random = population.week, np.random.default_rng(seed)
    people = len(population.cells)
    if point["scheme"] in (EXACT, OTHERS):
        seen = population.cells if point["scheme"] == EXACT else population.others
        counts = histograms(seen, len(week.centroids)).astype(np.int64)
    else:
        counts = scaled_to(_density(week, point, seed).T, people, random)
    rest = np.ones(len(HOURS), dtype=bool)  # linking by distance alone is the stronger attack on hourly counts
    accuracy, error = score(population.cells, recover(np.split(counts, DAYS), week.centroids, rest), week.centroids)
    return [{"accuracy": accuracy, "error": error}]


def _density(week: KnownWeek, point: Row, seed: int) -> NDArray[np.float64]:
    if point["scheme"] == MEAN:
        return np.broadcast_to(week.truth.mean(axis=1, keepdims=True), week.truth.shape)
    return week.truth if point["scheme"] == RAW else released(week, point, seed)


def figures(population: Population, results: pl.DataFrame) -> dict[str, Figure]:
    """Accuracy of the attack by scheme."""
    means = averaged(results, ["scheme", "epsilon"], ("accuracy",))
    names = means["scheme"].unique(maintain_order=True).to_list()
    figure = Figure(figsize=(6.6, 0.32 * len(names) + 1.2), layout="constrained")
    axes = figure.add_subplot()
    for height, (epsilon, colour) in enumerate(((None, "#777777"), (0.3, "#3b7dd8"), (3.0, "#b3261e"))):
        part = means.filter(pl.col("epsilon").eq_missing(epsilon))
        where = [names.index(name) + (0 if epsilon is None else 0.4 * height - 0.6) for name in part["scheme"]]
        label = "for comparison" if epsilon is None else f"epsilon {epsilon:g}"
        axes.barh(where, part["accuracy"], 0.36, xerr=part["accuracy_sd"], color=colour, label=label)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("share of (person, hour) points recovered", fontsize=9, color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    return {"recovery_audit": figure}


def summary(results: pl.DataFrame) -> str:
    """Accuracy and error distance by scheme."""
    means = averaged(results, ["scheme", "epsilon"], ("accuracy", "error"))
    rows = [
        [
            row["scheme"],
            "–" if row["epsilon"] is None else f"{row['epsilon']:g}",
            f"{100 * row['accuracy']:.1f} ± {100 * row['accuracy_sd']:.1f} %",
            figure_cell(row, "error", 0),
        ]
        for row in means.iter_rows(named=True)
    ]
    said = f"{PEOPLE} people, {CELLS} cells, {TOWERS} towers, one week. At two million people the attack is infeasible."
    return f"{markdown(('scheme', 'epsilon', 'accuracy', 'error (m)'), rows, 'l')}\n\n{said}"


RECOVERY_TEST = Study(
    name="recovery_audit",
    title="Trajectory recovery from releases of every scheme, beside counts without noise; on at most 1,000 simulated "
    "people, because assignments of two million are not feasible",
    grid=(
        *({"scheme": name, "epsilon": None} for name in (EXACT, RAW, MEAN, OTHERS)),
        *({"scheme": name, "epsilon": epsilon} for name in SCHEMES for epsilon in EPSILONS),
    ),
    load=load,
    once=once,
    figures=figures,
    summary=summary,
    repetitions=5,
    version=2,
    kind="attack_test",
)
