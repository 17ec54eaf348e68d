"""What the doors drew as tables, and back."""

import numpy as np
import polars as pl

from density_assets.calendar import HOURS
from density_assets.schemes.scheme import SERIES, TOTALS, Plan, Values


def totals_table(values: Values, plan: Plan) -> pl.DataFrame:
    """One row per noisy total, in the order it was drawn."""
    events = plan.get(TOTALS, ())
    frames = [
        pl.DataFrame(
            {
                "query": [name] * len(drawn),
                "position": np.arange(len(drawn)),
                "value": drawn.astype(np.float64),
                "standard_error": np.full(len(drawn), event.standard_deviation),
            }
        )
        for (name, drawn), event in zip(values.items(), events, strict=True)
    ]
    schema = {"query": pl.String, "position": pl.Int64, "value": pl.Float64, "standard_error": pl.Float64}
    return pl.concat([pl.DataFrame(schema=schema), *frames])


def totals_from(table: pl.DataFrame) -> Values:
    """The totals a table holds."""
    parts = table.sort("position").partition_by("query", as_dict=True, maintain_order=True)
    return {str(name): part["value"].to_numpy() for (name,), part in parts.items()}


def series_table(values: Values) -> pl.DataFrame:
    """One row per cluster and hour."""
    clusters = len(values["series"])
    return pl.DataFrame(
        {
            "cluster": np.repeat(np.arange(clusters), HOURS),
            "hour": np.tile(np.arange(HOURS), clusters),
            "value": values["series"].reshape(-1).astype(np.float64),
            "kept": np.repeat(values["kept"], HOURS),
        }
    )


def measurements(totals: pl.DataFrame, series: pl.DataFrame) -> pl.DataFrame:
    """Everything that was drawn of a week in one table, for readers."""
    of_totals = totals.select(
        pl.lit(TOTALS).alias("door"), "query", pl.lit(0).alias("series"), "position", "value", "standard_error"
    )
    of_series = series.select(
        pl.lit(SERIES).alias("door"),
        pl.lit("series").alias("query"),
        pl.col("cluster").alias("series"),
        pl.col("hour").alias("position"),
        "value",
        pl.lit(None, pl.Float64).alias("standard_error"),
        "kept",
    )
    whole = pl.col("series", "position").cast(pl.Int64)
    return pl.concat([of_totals.with_columns(whole), of_series.with_columns(whole)], how="diagonal")


def series_from(table: pl.DataFrame) -> Values:
    """The series a table holds."""
    ordered = table.sort("cluster", "hour")
    return {
        "series": ordered["value"].to_numpy().reshape(-1, HOURS),
        "kept": ordered["kept"].to_numpy()[::HOURS],
    }
