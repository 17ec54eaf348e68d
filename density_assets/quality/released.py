"""What must hold of released counts and of the files that carry them, and what the counts are worth.

They are worth something beside maps that cost nothing, a flat one and an empty one. All three are compared by the same
share: the visits that a map has too many or too few, over all cells and hours, of the visits there are. For an empty
map it is all of them. The release's own share is what its standard errors say, the flat map's is its distance from the
released counts. It reads what is published, never records: a city whose counts are noise is found by the size of the
noise.
"""

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from density_assets.calendar import HOURS
from density_assets.damage import POLARS_DAMAGE

CERTAIN = 3.0  # standard errors by which a number of visits must stand above zero: below, a third of it may be noise


def faults_of_counts(table: pl.DataFrame, cells: pl.Series) -> Iterator[str]:
    """What is wrong with a table of released counts; nothing if it is sound.

    cells: identifiers of the public list; every one must be there with all hours, and no other.
    """
    if not table["count"].dtype.is_integer():
        yield f"counts must be integers, got {table['count'].dtype}"
    elif len(table) and table["count"].fill_null(-1).min() < 0:  # type: ignore[operator]  # integers have a minimum
        yield "counts must not be negative or empty"
    expected = cells.len() * HOURS
    found = table.filter(pl.col("hour").is_in(range(HOURS)) & pl.col("cell_id").is_in(cells.implode()))
    if len(table) != expected or found.select("cell_id", "hour").n_unique() != expected:
        yield f"there must be one row for each of {cells.len()} cells and {HOURS} hours, got {len(table)} rows"


def doubts_about_visits(visits: int, noise: float, error_of_total: float) -> Iterator[str]:
    """Why the visits of a week may be noise; nothing if they stand out.

    noise: standard errors of all counts, added up. error_of_total: of the measured number of visits, 0 without one.
    """
    if visits <= noise:
        yield "the visits of the week cannot be told from noise: count more people, longer, or in larger cells"
    if visits <= CERTAIN * error_of_total:
        yield (
            f"the week has {visits:,} visits, measured with a standard error of {error_of_total:,.0f} (the ± of pages "
            "is of 95 %, about two of them), and every count is off by as much in proportion: count more people, or "
            "raise scheme.split or privacy.epsilon for weeks to come"
        )


def disagreements(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return what is wrong, by file: of files that cannot be read, or hold other counts than the Parquet file.

    files: the counts as Parquet, CSV and GeoJSON, in this order, by name.
    """
    wrong, read_by_cell = {}, {}
    for (name, content), read in zip(files.items(), (_read_parquet, _read_csv, _read_geojson), strict=True):
        try:
            read_by_cell[name] = read(content)
        except (*POLARS_DAMAGE, ValueError, KeyError) as error:
            wrong[name] = f"{name} cannot be read: {type(error).__name__}"
    parquet, *others = files
    if parquet in wrong:
        return {parquet: wrong[parquet]}
    for name in others:
        if name in read_by_cell and read_by_cell[name] != read_by_cell[parquet]:
            wrong[name] = f"{name} holds other counts than {parquet}"
    return wrong


def _by_cell(table: pl.DataFrame) -> dict[str, list[int]]:
    grouped = table.sort("hour").group_by(pl.col("cell_id").cast(pl.String)).agg("count")
    return dict(zip(grouped["cell_id"].to_list(), grouped["count"].to_list(), strict=True))


def _read_parquet(content: bytes) -> dict[str, list[int]]:
    return _by_cell(pl.read_parquet(io.BytesIO(content)))


def _read_csv(content: bytes) -> dict[str, list[int]]:
    return _by_cell(pl.read_csv(content, schema_overrides={"cell_id": pl.String}))


def _read_geojson(content: bytes) -> dict[str, list[int]]:
    features = json.loads(content)["features"]
    return {str(feature["properties"]["cell_id"]): feature["properties"]["counts"] for feature in features}


LARGE = 0.25  # of all visits


@dataclass(frozen=True)
class Drift:
    """Changes from week to week, as shares of last week's visits.

    total: change of the city's visits.
    moved: visits that would have to move between cells to make the two weeks alike.
    noise: how much of either noise alone may explain.
    """

    total: float
    moved: float
    noise: float

    @property
    def large(self) -> bool:
        """Whether a person should look."""
        return max(abs(self.total), self.moved) > LARGE + self.noise


@dataclass(frozen=True)
class Known:
    """Visits of places over a week, and their standard errors."""

    visits: NDArray[np.float64]
    error: NDArray[np.float64]


def drift(now: Known, then: Known) -> Drift:
    """Compare the visits of each place over a week with those of the week before; their errors must be independent."""
    was = max(float(then.visits.sum()), 1.0)
    scale = then.visits.sum() / now.visits.sum() if now.visits.sum() > 0 else 0.0
    moved = np.abs(now.visits * scale - then.visits).sum() / 2
    noise = 3 * float(np.hypot(now.error, then.error).sum())
    return Drift(float(now.visits.sum() - then.visits.sum()) / was, float(moved) / was, noise / was)


MEAN_OF_NORMAL = float(np.sqrt(2 / np.pi))  # mean distance from zero, in standard deviations
EMPTY = 1.0


@dataclass(frozen=True)
class Worth:
    """Shares of visits that are wrong: in the release by its own standard errors, and in a flat map.

    flat: none of a city of one cell, in which there is nothing to be flat.
    """

    release: float
    flat: float | None

    @property
    def too_small(self) -> bool:
        """Whether a map that needs no records would be about as good."""
        return self.release >= min(EMPTY, EMPTY if self.flat is None else self.flat)

    def __str__(self) -> str:
        """In words."""
        flat = "" if self.flat is None else f"{_said(self.flat)} in a flat map, where every cell is alike, and "
        return (
            f"Over all cells and hours, visits that are too many or too few make {_said(self.release)} of the visits: "
            f"this is what noise does. It would be {flat}100% in an empty map."
        )

    @property
    def note(self) -> str:
        """What a reader of the counts should know."""
        return " ".join(self.warnings) or str(self)

    @property
    def warnings(self) -> list[str]:
        """That the city is too small for its promise; nothing if it is not."""
        if not self.too_small:
            return []
        return [
            f"This city is too small for its promise. {self} Rely on no count of a cell and hour, and on sums only if "
            "their own errors are small. Count more people, in fewer cells, or under a larger epsilon in weeks to come."
        ]


def worth_of(counts: NDArray[np.int64], errors: NDArray[np.float64]) -> Worth:
    """Of released counts and their standard errors, both of shape (cells, hours).

    Where there is no count at all, a release says what an empty map does.
    """
    visits = float(counts.sum())
    if not visits:
        return Worth(EMPTY, EMPTY)
    flat = float(np.abs(counts - counts.mean(axis=0)).sum()) / visits if len(counts) > 1 else None
    return Worth(MEAN_OF_NORMAL * float(errors.sum()) / visits, flat)


def _said(share: float) -> str:
    return f"about {share:.0%}" if share <= EMPTY else "more than 100%"
