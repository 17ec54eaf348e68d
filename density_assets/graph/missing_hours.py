"""The hours that clocks skip: what is published says that nobody was there, and is certain of it.

An estimate smooths over such an hour, and so gives it counts that mean nothing. A release has none: its rows stay, so
that every cell has 168, with a count of zero and a standard error of zero. Sums over days are right without a word, and
errors of sums know that nothing can err there.
"""

import polars as pl

from density_assets.graph.step import Step


def missing_hours(step: Step) -> list[int]:
    """Hours of the week that do not happen and are published without counts."""
    return list(step.clock.missing)


def without_missing(step: Step, sums: pl.DataFrame) -> pl.DataFrame:
    """Errors of sums without what they say of hours that have none: what is not listed is zero."""
    return sums.filter(pl.col("hour").is_null() | ~pl.col("hour").is_in(missing_hours(step)))
