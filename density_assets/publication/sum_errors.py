"""The counts of a week with the errors of their sums: as one value, as a published table, and packed for the page.

The table holds the patterns of `estimation/weeks/summary.py`, a row per number: a row with a cell belongs to a pattern
over cells, a row with an hour to one over hours. Readers need the ten lines of `docs/errors-of-sums.md`; our own pages
read it by `summary_from`. The script of a page asks for 176 periods only, so of patterns of hours it gets one square
per kind and period; those of cells travel as numbers of two bytes.
"""

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from density_assets.calendar import HOURS
from density_assets.estimation.weeks.summary import Kind, Summary
from density_assets.geography.places import Matrix
from density_assets.series import Flags, Floats

WITHIN = 1.96  # standard errors on either side of 95 %
CITY = "city"  # the kind whose patterns are relative to the city's visits
DIGITS = 4  # that are kept of each number
MOST_CELLS = 2**16  # of a page: two bytes can number them
LARGEST = 2**15 - 1
MEANING = {
    "kind": (
        "which errors: `places …` and `towers …` of noise, `rhythm …` of the city's hours, `sizes …` of towers, "
        "`stretch …` of an event or outage, `city` of all cells in proportion to their counts"
    ),
    "pattern": "number of the pattern within its kind; those over cells and those over hours are counted apart",
    "cell_id": "the cell, in a pattern over cells; else empty",
    "hour": "the hour of the week, in a pattern over hours; else empty",
    "value": "the number of the pattern there; cells and hours that are not listed have zero",
}
SCHEMA = pl.Schema(
    {"kind": pl.String, "pattern": pl.Int32, "cell_id": pl.String, "hour": pl.Int32, "value": pl.Float32}
)


@dataclass(frozen=True)
class WeekCounts:
    """The counts of one week, (cells, hours), their standard errors, and what tells the error of sums, if it is there.

    happens: whether an hour of the week does, when clocks change; counts of one that does not mean nothing.
    """

    visits: Floats
    error: Floats
    sums: Summary | None
    happens: Flags

    def error_of(self, areas: Floats, periods: Floats) -> Floats:
        """Standard errors of areas @ visits @ periods, for areas (k x cells) and periods (168 x p); NaN if not known.

        Where nothing tells how errors go together, that of one cell in one hour is known, and of no sum.
        """
        if self.sums is not None:
            return np.sqrt(self.sums.variance(self.visits, self.error, areas, periods))
        alone = np.outer(np.count_nonzero(areas, axis=1) == 1, np.count_nonzero(periods, axis=0) == 1)
        return np.where(alone, np.sqrt(areas**2 @ self.error**2 @ periods**2), np.nan)

    def error_of_each_cell(self, hours: Floats) -> Floats:
        """The same of every cell by itself, over the hours that 168 weights give."""
        if self.sums is None:
            return np.full(len(self.visits), np.nan)
        return np.sqrt(self.sums.of_each_cell(self.visits, self.error, hours))


def errors_table(summary: Summary, cell_ids: pl.Series) -> pl.DataFrame:
    """The patterns of all kinds; numbers that are zero are left out."""
    parts = []
    for number, kind in enumerate(summary.kinds, start=1):
        name = f"{kind.name} {number}"
        parts += [_long(name, kind.cells, cell_id=cell_ids), _long(name, kind.hours, hour=_hours())]
    return pl.concat([*parts, _long(CITY, summary.city, hour=_hours())])


def summary_from(table: pl.DataFrame, cell_ids: pl.Series) -> Summary:
    """What `errors_table` gave."""
    of_cells, of_hours = _matrices(table, "cell_id", cell_ids), _matrices(table, "hour", _hours())
    dense = {name: np.asarray(patterns.toarray()) for name, patterns in of_hours.items()}
    city = dense.pop(CITY)
    return Summary(tuple(Kind(name.split()[0], of_cells[name], hours) for name, hours in dense.items()), city)


def _long(kind: str, patterns: Matrix, **along: pl.Series) -> pl.DataFrame:
    """One row per number that is not zero. A pattern may be negated; its largest number is positive here."""
    ((name, labels),) = along.items()
    signed = csr_array(patterns)
    largest, smallest = signed.max(axis=0).toarray(), signed.min(axis=0).toarray()
    entries = csr_array((signed * np.where(largest >= -smallest, 1.0, -1.0)).T).tocoo()
    pattern, row = entries.coords
    rows = {"kind": [kind] * len(row), "pattern": pattern, name: labels[row], "value": _short(entries.data)}
    empty = {other: [None] * len(row) for other in ("cell_id", "hour") if other != name}
    return pl.DataFrame(rows | empty).select(SCHEMA.names()).cast(SCHEMA)


def _matrices(table: pl.DataFrame, name: str, labels: pl.Series) -> dict[str, Matrix]:
    """The patterns of each kind over these labels."""
    place = pl.DataFrame({name: labels}).with_row_index("place").cast({name: SCHEMA[name]})
    matrices = {}
    for rows in table.join(place, on=name, maintain_order="left").partition_by("kind"):
        where, pattern = rows["place"].to_numpy(), rows["pattern"].to_numpy()
        values = rows["value"].to_numpy().astype(np.float64)
        matrices[rows["kind"][0]] = csr_array((values, (where, pattern)), shape=(len(labels), pattern.max() + 1))
    return matrices


def _short(values: Floats) -> Floats:
    """Values to a few digits; what is nothing, as in a city without a visit, stays nothing."""
    unit = 10.0 ** (np.floor(np.log10(np.abs(np.where(values == 0, 1, values)))) - DIGITS + 1)
    return np.asarray(np.round(values / unit) * unit)


def _hours() -> pl.Series:
    return pl.Series(range(HOURS))


def packed_sums(summary: Summary, happens: Flags) -> dict[str, Any] | None:
    """The summary for `sums.js`; nothing of a city with more cells than it can number.

    happens: whether an hour does; a day or week is the sum of those that do.
    """
    if any(kind.cells.shape[0] > MOST_CELLS for kind in summary.kinds):
        return None
    return {
        "kinds": [_packed(kind, happens) for kind in summary.kinds],
        "width": summary.city.shape[1],
        "city": _text(summary.city.astype("<f4")),
    }


def _packed(kind: Kind, happens: Flags) -> dict[str, Any]:
    """hours: the square of the patterns of hours in each period. cells, values: entry by entry, pattern after pattern.

    counts: entries of each pattern. scales: what a pattern's whole numbers are to be multiplied by.
    """
    patterns = csc_array(kind.cells)
    patterns.sort_indices()
    scales = abs(patterns).max(axis=0).toarray() / LARGEST
    counts = np.diff(patterns.indptr)
    values = np.rint(patterns.data / np.repeat(np.where(scales > 0, scales, 1), counts))
    return {
        "hours": [_rounded(square) for square in _squares(kind.hours, happens)],
        "counts": counts.tolist(),
        "scales": [_rounded(scale) for scale in scales],
        "cells": _text(patterns.indices.astype("<u2")),
        "values": _text(values.astype("<i2")),
    }


def _squares(hours: NDArray[np.float64], happens: Flags) -> NDArray[np.float64]:
    """Of patterns of hours in 168 hours, seven days and the week."""
    each = hours * happens[:, None]
    days = _added(each.reshape(7, HOURS // 7, -1), axis=1)
    return _added(np.concatenate([hours, days, _added(each, axis=0)[None]]) ** 2, axis=1)


def _added(values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """A sum taken one number after another, which has the same last digit on every machine: pages are signed."""
    return np.asarray(np.cumsum(values, axis=axis).take(-1, axis=axis))


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS + 2}g}")


def _text(numbers: NDArray[Any]) -> str:
    return base64.b64encode(numbers.tobytes()).decode()
