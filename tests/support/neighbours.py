"""Neighbouring weeks (one user more) through the real SQL and the real matrices, and how far apart they come out."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from density_assets.geography.cover import minimum_cover
from density_assets.geography.embedded import embedded_city
from density_assets.geography.overlaps import overlaps
from density_assets.geography.places import Places
from density_assets.geography.voronoi import tower_cells
from density_assets.research.promise.neighbours import Visits, counted

CELLS, TOWERS = embedded_city(cells=12, towers=15, seed=3)
SHAPES = tower_cells(TOWERS.xy, CELLS.city)
PIECES = overlaps(SHAPES, CELLS.polygons)
COVER = minimum_cover(PIECES)
PLACES = Places(PIECES, COVER, TOWERS.xy, SHAPES, CELLS.polygons)
TO_CELLS, TO_COVER = PLACES.from_towers("cells"), PLACES.from_towers("cover")
NEWCOMER = 999

L, WEIGHT_L, CLAMP = 6, 2, 25
PARAMETERS = {"visits_per_user": L, "weight_l": WEIGHT_L, "visits_clamp": CLAMP}

SPARSEST = int(np.argmin(np.bincount(TO_COVER.tocoo().col, minlength=len(TOWERS))))
ADVERSARIES = {
    "all towers in one hour": [(30, tower) for tower in range(len(TOWERS))],
    "every tower in every hour": [(hour, tower) for hour in range(168) for tower in range(len(TOWERS))],
    "one tower all week": [(hour, SPARSEST) for hour in range(168)],
    "spread over as many towers as hours": [(hour, hour % len(TOWERS)) for hour in range(L)],
    "exactly at the cap": [(hour, 0) for hour in range(L)],
    "one visit": [(0, SPARSEST)],
}


@dataclass(frozen=True)
class Change:
    """What one user changes in each query."""

    towers: np.ndarray
    cells: np.ndarray
    cover: np.ndarray
    weighted: np.ndarray
    one_visit: np.ndarray
    total: int


def change(folder: Path, others: dict[int, Visits], newcomer: Visits, **parameters: int) -> Change:
    """Queries with the newcomer minus queries without."""
    without = _queries(folder / "without", others, parameters)
    present = _queries(folder / "with", others | {NEWCOMER: newcomer}, parameters)
    return Change(*(after - before for before, after in zip(without, present, strict=True)))


def _queries(folder: Path, people: dict[int, Visits], parameters: dict[str, int]) -> tuple[np.ndarray, ...]:
    week = counted(folder, TOWERS, PLACES, people, parameters)
    return (
        week.truncated,
        TO_CELLS @ week.truncated,
        TO_COVER @ week.truncated,
        week.weighted,
        week.sampled,
        np.array([week.visit_total]),
    )


def violations(found: Change, l: int, weight_l: int, clamp: int) -> list[str]:
    """The bounds of `privacy.sensitivity` that the change breaks."""
    from density_assets.privacy import sensitivity as bound

    norms = {
        f"{name} L1": (np.abs(values).sum(), bound.truncated_l1(l))
        for name, values in (("towers", found.towers), ("cells", found.cells), ("cover", found.cover))
    }
    norms |= {
        f"{name} L2": (np.sqrt((values**2).sum()), bound.truncated_l2(l))
        for name, values in (("towers", found.towers), ("cells", found.cells), ("cover", found.cover))
    }
    weighted = [int(value) for value in found.weighted.reshape(-1)]  # exact integers of any size
    norms["weighted L2, squared"] = (sum(v * v for v in weighted), weight_l * 2**32)
    norms["one visit L1"] = (np.abs(found.one_visit).sum(), bound.one_visit())
    norms["total"] = (abs(int(found.total[0])), bound.clamped_total(clamp))
    norms["an hour of the cover"] = (np.abs(found.cover).sum(axis=0).max(), 1 + 1e-9)
    return [f"{name}: {value} > {limit}" for name, (value, limit) in norms.items() if value > limit]
