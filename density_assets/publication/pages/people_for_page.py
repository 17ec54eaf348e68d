"""What the page's script gets of people, where a release states factors: plain values of the files beside the page.

numbers   people of each cell and hour, as files have them
fewest    people per visit by the bounds of factors: a list by cell and one by hour of the week, to be multiplied;
most      a cell's people lie between count - 1.96 errors at the fewest and count + 1.96 errors at the most
groups    in the order of the page's groups `low` and `high` of each hour; null where errors of sums are not told
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from density_assets.calendar import HOURS
from density_assets.publication.people import PeopleFactors, PerVisit, people_in_cells, people_of_sums
from density_assets.publication.sums import WeekCounts

DIGITS = 6


def people_for_page(
    factors: PeopleFactors, week: WeekCounts, groups: Mapping[str, NDArray[np.bool_]]
) -> dict[str, Any]:
    """Numbers and intervals of people. groups: which cells are in each."""
    numbers = people_in_cells(factors, week).number
    areas = np.array(list(groups.values()), dtype=np.float64).reshape(-1, len(numbers))
    of_groups = people_of_sums(factors, week, numbers, areas, np.eye(HOURS))
    return {
        "numbers": numbers.tolist(),
        "fewest": _rates(factors.fewest),
        "most": _rates(factors.most),
        "groups": [
            None if np.isnan([low, high]).any() else {"low": low.tolist(), "high": high.tolist()}
            for low, high in zip(of_groups.low, of_groups.high, strict=True)
        ],
    }


def _rates(rate: PerVisit) -> dict[str, list[float]]:
    return {
        name: [float(f"{one:.{DIGITS}g}") for one in of] for name, of in (("cells", rate.cells), ("hours", rate.hours))
    }
