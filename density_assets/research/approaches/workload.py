"""What every technique is tried on: a town of invented people, and what readers ask of its week.

The town is small enough for trajectories: people whose week is known, at places that are cells of a map. Questions are
the same to every technique, and so is how far off the answers are.
"""

from collections.abc import Sequence
from datetime import date

import numpy as np

from density_assets.calendar import HOURS
from density_assets.geography.source import embedded_city
from density_assets.people.population import simulate_week
from density_assets.quality.accuracy import mean_emd, mre, pearson
from density_assets.research.published_metrics import EMD_HOURS
from density_assets.research.queries.workload import districts, partition, rectangles
from density_assets.research.study import Row
from density_assets.research.traces.matrix import Matrix, Traces, binary
from density_assets.series import Floats

PEOPLE, PLACES = 20_000, 150
WEEK = date(2007, 9, 10)


def town(people: int = PEOPLE, places: int = PLACES, seed: int = 0, week: date = WEEK) -> Traces:
    """A week of invented people; places are the Voronoi cells of towers, positions in metres."""
    cells, towers = embedded_city(cells=places, towers=places, seed=seed)
    chunks = list(simulate_week(cells.centroids, towers.xy, users=people, seed=seed, week=week))
    user, tower, hour = (
        np.concatenate([getattr(chunk, name) for chunk in chunks]).astype(np.int64)
        for name in ("user", "tower", "hour")
    )
    matrix = binary(user - 1, tower * HOURS + hour, (people, places * HOURS))
    return Traces(matrix, np.arange(people), HOURS, towers.xy)


RECTANGLES, SEED, DISTRICTS = 500, 5, 9
SANITY = 0.001  # of all visits: no sum is asked for more precisely
BUSIEST = 20

METRICS = ("mre", "pc", "emd", "rectangles", "districts", "busiest")


def asked_rectangles(positions: Floats) -> Matrix:
    """Random boxes of the map in random stretches of the week."""
    return rectangles(positions, HOURS, RECTANGLES, SEED)


def district_days(positions: Floats) -> Matrix:
    """Districts by day."""
    return partition(districts(positions, DISTRICTS), np.arange(HOURS) // 24)


def score(truth: Floats, density: Floats, positions: Floats, emd_hours: Sequence[int] = EMD_HOURS) -> Row:
    """Errors of cells and hours, of sums, and the share of each hour's busiest cells that a reader would find."""
    return {
        "mre": mre(truth, density),
        "pc": pearson(truth, density),
        "emd": mean_emd(truth, np.maximum(density, 0.0), positions, emd_hours) if (density > 0).any() else np.nan,
        "rectangles": sum_error(asked_rectangles(positions), truth, density),
        "districts": sum_error(district_days(positions), truth, density),
        "busiest": found_busiest(truth, density),
    }


def sum_error(workload: Matrix, truth: Floats, density: Floats) -> float:
    """How far sums of a density are off."""
    return answer_error(workload, truth, workload @ density.ravel())


def answer_error(workload: Matrix, truth: Floats, answers: Floats) -> float:
    """Mean relative error of answers, no true one of which counts as smaller than a thousandth of all visits."""
    true = workload @ truth.ravel()
    return float(np.mean(np.abs(answers - true) / np.maximum(true, SANITY * truth.sum())))


def found_busiest(truth: Floats, density: Floats, number: int = BUSIEST) -> float:
    """Share of the busiest places of each hour that are busiest in the density too; ties are broken against it.

    Undefined where there are no more places than that.
    """
    if len(truth) <= number:
        return float("nan")
    order = np.argsort(-truth, axis=0, kind="stable")[:number]
    claimed = np.lexsort((truth, -density), axis=0)[:number]
    hits = [len(np.intersect1d(order[:, hour], claimed[:, hour])) for hour in range(truth.shape[1])]
    return float(np.mean(hits) / number)
