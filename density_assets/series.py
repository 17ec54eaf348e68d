"""Weekly series as tables (one row per place and hour) and as matrices (places x 168); the types of all arrays."""

from collections.abc import Collection
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from density_assets.calendar import HOURS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


def matrix(table: pl.DataFrame, places: pl.Series, column: str) -> NDArray[Any]:
    """One column as a matrix whose rows follow the order of `places`.

    The table must be dense: every place with all 168 hours, and no other place.
    """
    if len(table) != len(places) * HOURS:
        # How many rows there are tells of people.
        raise ValueError(f"expected {len(places)} x {HOURS} rows; re-materialize the table")
    placed = table.join(_order(places), on=places.name, how="inner").sort("_row", "hour")
    return placed[column].to_numpy().reshape(len(places), HOURS)


def happening(missing: Collection[int]) -> NDArray[np.bool_]:
    """Whether each hour of the week happens.

    missing: hours that clocks leave out.
    """
    return ~np.isin(np.arange(HOURS), list(missing))


def vector(table: pl.DataFrame, places: pl.Series, column: str) -> NDArray[Any]:
    """One column of a table with a row per place, in the order of `places`."""
    placed = table.join(_order(places), on=places.name, how="inner").sort("_row")
    if len(placed) != len(places):
        raise ValueError(f"expected a row for each of {len(places)} places; re-materialize the table")
    return placed[column].to_numpy()


def _order(places: pl.Series) -> pl.DataFrame:
    """The row of each place. One that stood twice in a public list would be drawn twice, with noise for one time."""
    if places.is_duplicated().any():
        raise ValueError("a place is listed twice; re-materialize the list of places")
    return pl.DataFrame({places.name: places, "_row": np.arange(len(places))})


def table(places: pl.DataFrame, **columns: NDArray[np.float64]) -> pl.DataFrame:
    """Matrices as one table: the columns of `places` repeated for each hour, then one column per matrix."""
    rows = np.repeat(np.arange(len(places)), HOURS)
    hours = np.tile(np.arange(HOURS, dtype=np.int64), len(places))
    return places[rows].with_columns(hour=hours, **{name: m.reshape(-1) for name, m in columns.items()})
