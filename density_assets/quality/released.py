"""What must hold of released counts, and of the files that carry them."""

import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl

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


def disagreements(parquet: Path, csv: Path, geojson: Path) -> Iterator[str]:
    """Which files of a release cannot be read, or hold other counts than its Parquet file."""
    try:
        counts = _by_cell(pl.read_parquet(parquet))
    except POLARS_DAMAGE as error:
        yield f"{parquet.name} cannot be read: {type(error).__name__}"
        return
    for file, read in ((csv, _read_csv), (geojson, _read_geojson)):
        try:
            if read(file) != counts:
                yield f"{file.name} holds other counts than {parquet.name}"
        except (*POLARS_DAMAGE, ValueError, KeyError) as error:
            yield f"{file.name} cannot be read: {type(error).__name__}"


def _by_cell(table: pl.DataFrame) -> dict[str, list[int]]:
    grouped = table.sort("hour").group_by(pl.col("cell_id").cast(pl.String)).agg("count")
    return dict(zip(grouped["cell_id"].to_list(), grouped["count"].to_list(), strict=True))


def _read_csv(file: Path) -> dict[str, list[int]]:
    return _by_cell(pl.read_csv(file, schema_overrides={"cell_id": pl.String}))


def _read_geojson(file: Path) -> dict[str, list[int]]:
    features = json.loads(file.read_text(encoding="utf-8"))["features"]
    return {str(feature["properties"]["cell_id"]): feature["properties"]["counts"] for feature in features}
