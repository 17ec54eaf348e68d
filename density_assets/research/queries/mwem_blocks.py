"""The public queries of MWEM, in blocks of disjoint ones that are measured together, and its public start."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from density_assets.research.queries.workload import districts, partition, partition_sensitivity
from density_assets.research.traces.matrix import Matrix

Floats = NDArray[np.float64]

DAY, PART = 24, 6  # hours
DISTRICTS = (4, 12, 40)
# Calls in the hours of a day from midnight, as everybody knows them: few at night, most in the early evening.
RHYTHM = (2, 1, 1, 1, 1, 2, 4, 8, 10, 10, 10, 11, 12, 11, 10, 10, 11, 13, 14, 13, 11, 9, 6, 4)


@dataclass(frozen=True)
class Block:
    """Disjoint queries, one row each, and how far one user can move their answers, in L2."""

    name: str
    rows: Matrix
    sensitivity: float


def blocks(positions: Floats, hours: int, visits: int) -> list[Block]:
    """Weeks, days and parts of the day of places, hours of the whole map, hours and hours of the day of districts."""
    places, every_hour = np.arange(len(positions)), np.arange(hours)
    cuts = {
        "weeks of places": (places, np.zeros_like(every_hour)),
        "days of places": (places, every_hour // DAY),
        "parts of the day of places": (places, every_hour % DAY // PART),
        "hours": (np.zeros_like(places), every_hour),
    }
    for count in (number for number in DISTRICTS if number < len(positions)):
        area = districts(positions, count)
        cuts[f"hours of {count} districts"] = area, every_hour
        cuts[f"hours of the day of {count} districts"] = area, every_hour % DAY
    return [Block(name, partition(*cut), partition_sensitivity(cut[1], visits)) for name, cut in cuts.items()]


def flat_start(places: int, hours: int) -> Floats:
    """The same at all places, with a daily rhythm; hours count from midnight."""
    return np.tile(np.resize(np.array(RHYTHM, float), hours), (places, 1))
