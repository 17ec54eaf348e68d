"""What the page's script gets of regions and people: plain values, each a number that is in a file beside the page.

`regions`: the whole city first, each with its name, the places of its cells in the list of cells, and for the 176
periods (168 hours, seven days, the week) `count`, `count_low`, `count_high` and, where factors are stated, `people`,
`people_low`, `people_high`. Ends of intervals that are not known are null.

`people`: people per visit, as `stated` and by the bounds of factors `fewest` and `most`: each a list by cell and one by
hour of the week, to be multiplied. Of one cell and hour people lie between (count - 1.96 errors) at the fewest and
(count + 1.96 errors) at the most.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from density_assets.geography.regions import Regions
from density_assets.publication.people import PeopleFactors

COUNTS = ("count", "count_low", "count_high")
PEOPLE = ("people", "people_low", "people_high")
DIGITS = 6


def regions_for_page(sums: pl.DataFrame, regions: Regions) -> list[dict[str, Any]]:
    """The regions of a page, from what `region_sums` gave."""
    columns = [name for name in (*COUNTS, *PEOPLE) if name in sums.columns]
    cells = [np.arange(len(regions.of_cell)), *(np.flatnonzero(area) for area in regions.areas)]
    parts = sums.partition_by("region_id", maintain_order=True)
    return [
        {
            "id": part["region_id"][0],
            "name": part["region_name"][0],
            "cells": of.tolist(),
            **{name: part[name].to_list() for name in columns},
        }
        for part, of in zip(parts, cells, strict=True)
    ]


def people_for_page(factors: PeopleFactors) -> dict[str, dict[str, list[float]]]:
    """People per visit of a page."""
    rates = {"stated": factors.stated, "fewest": factors.fewest, "most": factors.most}
    return {name: {"cells": _short(rate.cells), "hours": _short(rate.hours)} for name, rate in rates.items()}


def _short(values: Sequence[float] | np.ndarray[Any, Any]) -> list[float]:
    return [float(f"{value:.{DIGITS}g}") for value in values]
