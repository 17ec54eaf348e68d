"""What readers ask of a week, and how far off the answers are: the same questions to every technique."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from density_assets.calendar import HOURS
from density_assets.publication.pages.areas import compass
from density_assets.research.approaches.technique import Floats
from density_assets.research.density.releases import EMD_HOURS
from density_assets.research.metrics.correlation import pearson
from density_assets.research.metrics.earth_movers import mean_emd
from density_assets.research.metrics.relative_error import mre
from density_assets.research.study import Row

RECTANGLES, SEED = 500, 5
SANITY = 0.001  # of all visits: no sum is asked for more precisely
BUSIEST = 20

METRICS = ("mre", "pc", "emd", "rectangles", "districts", "busiest")


@dataclass(frozen=True)
class Sums:
    """Questions for sums: question k asks for the places of row k of `areas` in the hours of row k of `periods`."""

    areas: NDArray[np.bool_]
    periods: NDArray[np.bool_]

    def of(self, density: Floats) -> Floats:
        """The answers from a density."""
        return np.asarray(((self.areas @ density) * self.periods).sum(axis=1))


def rectangles(positions: Floats, hours: int = HOURS, count: int = RECTANGLES, seed: int = SEED) -> Sums:
    """Random boxes of the map, drawn over two of its places, in random stretches of the week."""
    rng = np.random.default_rng(seed)
    corners = positions[rng.integers(len(positions), size=(count, 2))]
    low, high = corners.min(axis=1, keepdims=True), corners.max(axis=1, keepdims=True)
    areas = ((positions >= low) & (positions <= high)).all(axis=2)
    ends = np.sort(rng.integers(hours, size=(count, 2)), axis=1)
    clock = np.arange(hours)
    return Sums(areas, (clock >= ends[:, :1]) & (clock <= ends[:, 1:]))


def districts(positions: Floats) -> Sums:
    """Parts of the map by day."""
    parts = np.stack(list(compass(positions).values()))
    days = np.repeat(np.eye(HOURS // 24, dtype=bool), 24, axis=1)
    return Sums(np.repeat(parts, len(days), axis=0), np.tile(days, (len(parts), 1)))


def score(truth: Floats, density: Floats, positions: Floats, emd_hours: Sequence[int] = EMD_HOURS) -> Row:
    """Errors of cells and hours, of sums, and the share of each hour's busiest cells that a reader would find."""
    return {
        "mre": mre(truth, density),
        "pc": pearson(truth, density),
        "emd": mean_emd(truth, np.maximum(density, 0.0), positions, emd_hours),
        "rectangles": sum_error(rectangles(positions), truth, density),
        "districts": sum_error(districts(positions), truth, density),
        "busiest": found_busiest(truth, density),
    }


def sum_error(sums: Sums, truth: Floats, density: Floats) -> float:
    """Mean relative error of sums, none of which counts as smaller than a thousandth of all visits."""
    true = sums.of(truth)
    return float(np.mean(np.abs(sums.of(density) - true) / np.maximum(true, SANITY * truth.sum())))


def found_busiest(truth: Floats, density: Floats, number: int = BUSIEST) -> float:
    """Share of the busiest places of each hour that are busiest in the density too; ties are broken against it."""
    order = np.argsort(-truth, axis=0, kind="stable")[:number]
    claimed = np.lexsort((truth, -density), axis=0)[:number]
    hits = [len(np.intersect1d(order[:, hour], claimed[:, hour])) for hour in range(truth.shape[1])]
    return float(np.mean(hits) / min(number, len(truth)))
