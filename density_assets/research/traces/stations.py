"""Where stations are: a list beside the files of traces, which also says which stations there are."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from density_assets.damage import POLARS_DAMAGE
from density_assets.errors import BadInput, missing_column
from density_assets.research.traces.recipe import FILE, Recipe
from density_assets.research.traces.trace_tables import BYTE_ORDER_MARK


@dataclass(frozen=True)
class Stations:
    """Stations in the order of their names, and x and y of each."""

    names: NDArray[np.str_]
    positions: NDArray[np.float64]


def read_stations(data: Path, recipe: Recipe) -> Stations:
    """The list the recipe names: CSV beside text, Parquet beside Parquet, with the recipe's `station`, x and y."""
    assert recipe.stations is not None  # who asks has one
    file = (data if data.is_dir() else data.parent) / recipe.stations
    if not file.is_file():
        raise BadInput(f"stations in {FILE} must name a file beside the traces, {file} is not there")
    table = _table(file)
    for column in (recipe.station, "x", "y"):
        if column not in table.columns:
            raise missing_column(file, f"stations in {FILE}", column, table.columns)
    named = table.with_columns(pl.col(recipe.station).cast(pl.String)).sort(recipe.station)
    numbers = named.select(pl.col("x", "y").cast(pl.Float64, strict=False))
    if not numbers.to_numpy().size or not np.isfinite(numbers.to_numpy()).all():
        raise BadInput(f"{file.name}: every station must have numbers as x and y, got some that are none")
    if named[recipe.station].is_duplicated().any():
        raise BadInput(f"{file.name}: every station must stand there once, got some twice")
    return Stations(named[recipe.station].to_numpy().astype(str), numbers.to_numpy())


def _table(file: Path) -> pl.DataFrame:
    """Text is read byte by byte, as the lines of traces are, so that names agree whatever their encoding."""
    try:
        if file.suffix == ".parquet":
            return pl.read_parquet(file)
        table = pl.read_csv(file, infer_schema=False, encoding="latin-1")
    except POLARS_DAMAGE as error:
        raise BadInput(f"{file.name} must be readable CSV or Parquet, it gave {type(error).__name__}") from None
    return table.rename({name: name.removeprefix(BYTE_ORDER_MARK) for name in table.columns})
