"""Errors of sums as a table that is published: the patterns of `estimation/weeks/summary.py`, a row per number.

A row with a cell belongs to a pattern over cells, a row with an hour to one over hours. Readers need the ten lines
of `docs/errors-of-sums.md`; our own pages read it by `summary_from`.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_array

from density_assets.calendar import HOURS
from density_assets.estimation.weeks.summary import Kind, Summary
from density_assets.geography.places import Matrix

Floats = NDArray[np.float64]

CITY = "city"  # the kind whose patterns are relative to the city's visits
DIGITS = 4  # that are kept of each number
ALIKE = 0.01  # of a variance: rounding moves it by less
SUMS = 20  # by which patterns are compared
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


def alike(one: Summary, other: Summary) -> bool:
    """Whether two summaries tell the same errors, but for digits that are not kept.

    Patterns may be turned into each other without changing an error, so errors are compared: kind by kind those of each
    cell and hour, and those of sums that nobody could know before.
    """
    if [kind.name for kind in one.kinds] != [kind.name for kind in other.kinds]:
        return False
    random = np.random.default_rng()
    pairs = [*zip(one.kinds, other.kinds, strict=True), (_relative(one), _relative(other))]
    return all(_alike(kind, of_other, random) for kind, of_other in pairs)


def tables_alike(stored: pl.DataFrame, again: pl.DataFrame, cell_ids: pl.Series) -> bool:
    """Whether two tables have the same patterns, and tell the same errors."""
    if not stored.drop("value").equals(again.drop("value")):
        return False
    return again.is_empty() or alike(summary_from(stored, cell_ids), summary_from(again, cell_ids))


def _alike(one: Kind, other: Kind, random: np.random.Generator) -> bool:
    if one.cells.shape[0] != other.cells.shape[0]:
        return False
    areas, hours = random.normal(size=(SUMS, one.cells.shape[0])), random.normal(size=(HOURS, SUMS))
    sums, of_other = one.variance(areas, hours), other.variance(areas, hours)
    same_sums = np.allclose(sums, of_other, rtol=ALIKE, atol=ALIKE * sums.mean())
    return same_sums and np.allclose(one.power, other.power, rtol=ALIKE, atol=1e-6 * one.power.max(initial=0.0))


def _relative(summary: Summary) -> Kind:
    """Errors that all cells share as a kind of one cell."""
    return Kind(CITY, csr_array(np.ones((1, 1))), summary.city)


def _long(kind: str, patterns: Matrix, **along: pl.Series) -> pl.DataFrame:
    """One row per number that is not zero. A pattern may be negated; its largest number is positive here."""
    ((name, labels),) = along.items()
    signed = csr_array(patterns)
    largest, smallest = signed.max(axis=0).toarray(), signed.min(axis=0).toarray()
    found = csr_array((signed * np.where(largest >= -smallest, 1.0, -1.0)).T).tocoo()
    pattern, row = found.coords
    rows = {"kind": [kind] * len(row), "pattern": pattern, name: labels[row], "value": _short(found.data)}
    empty = {other: [None] * len(row) for other in ("cell_id", "hour") if other != name}
    return pl.DataFrame(rows | empty).select(SCHEMA.names()).cast(SCHEMA)


def _matrices(table: pl.DataFrame, name: str, labels: pl.Series) -> dict[str, Matrix]:
    """The patterns of each kind over these labels."""
    place = pl.DataFrame({name: labels}).with_row_index("place").cast({name: SCHEMA[name]})
    found = {}
    for rows in table.join(place, on=name, maintain_order="left").partition_by("kind"):
        where, pattern = rows["place"].to_numpy(), rows["pattern"].to_numpy()
        values = rows["value"].to_numpy().astype(np.float64)
        found[rows["kind"][0]] = csr_array((values, (where, pattern)), shape=(len(labels), pattern.max() + 1))
    return found


def _short(values: Floats) -> Floats:
    """Values to a few digits; what is nothing, as in a city without a visit, stays nothing."""
    unit = 10.0 ** (np.floor(np.log10(np.abs(np.where(values == 0, 1, values)))) - DIGITS + 1)
    return np.asarray(np.round(values / unit) * unit)


def _hours() -> pl.Series:
    return pl.Series(range(HOURS))
