"""The counts as they are handed out: those of `density`, with what a reader would otherwise work out."""

import math
from collections.abc import Iterable

import polars as pl

from density_assets.calendar import WeekClock
from density_assets.publication.sums import WITHIN

ENDS = ("count_low", "count_high")


def counts_with_intervals(density: pl.DataFrame, clock: WeekClock) -> pl.DataFrame:
    """The counts with their week, and the ends of their 95 % intervals as whole numbers; times as text."""
    return density.with_columns(week=pl.lit(clock.week), **interval_columns(pl.col("count"), pl.col("standard_error")))


def interval_columns(count: pl.Expr, error: pl.Expr, names: Iterable[str] = ENDS) -> dict[str, pl.Expr]:
    """The 95 % interval of counts, rounded outwards: no count of visits is negative."""
    low, high = (count - WITHIN * error).floor().clip(lower_bound=0), (count + WITHIN * error).ceil()
    return {name: end.cast(pl.Int64) for name, end in zip(names, (low, high), strict=True)}


def with_moments(counts: pl.DataFrame, timezone: str) -> pl.DataFrame:
    """The counts with times as moments, which show as the city's clocks do."""
    moments = pl.col("timestamp").str.to_datetime("%Y-%m-%dT%H:%M:%S%:z", time_unit="us", time_zone="UTC")
    return counts.with_columns(moments.dt.convert_time_zone(timezone))


def interval(count: int, error: float) -> tuple[int, int]:
    """Where a sum of counts lies with 95 % confidence, rounded outwards."""
    return max(0, math.floor(count - WITHIN * error)), math.ceil(count + WITHIN * error)
