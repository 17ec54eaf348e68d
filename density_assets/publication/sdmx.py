"""The counts as SDMX-CSV 2.0, which statistics offices load.

One row per observation. Which columns there are, and by which concepts offices know them, follows from `columns.py`;
what is promised stands in every row, so that a row that travels alone still says what protects it.
"""

import polars as pl

from density_assets.privacy.release import Identity
from density_assets.publication.columns import Columns

STRUCTURE = {"STRUCTURE": "dataflow", "STRUCTURE_ID": "DENSITY:VISITS(1.0.0)", "ACTION": "I", "FREQ": "H"}
UNIT = "SUBSCRIBER_WEEK"  # all records of one subscriber identifier in one week
TIME = "TIME_PERIOD"


def sdmx_csv(counts: pl.DataFrame, columns: Columns, promised: Identity) -> str:
    """The counts; an hour that does not happen has no observation.

    counts: with times as text. columns: what describes them. promised: with its epsilon and delta.
    """
    concepts = {column.name: column.concept for column in columns if column.concept}
    area, time, *measured = (pl.col(name).alias(concept) for name, concept in concepts.items())
    said = {"EPSILON": promised.epsilon, "DELTA": promised.delta, "PRIVACY_UNIT": UNIT}
    before, after = ([pl.lit(value).alias(name) for name, value in part.items()] for part in (STRUCTURE, said))
    return counts.select(*before, area, time, *measured, *after).drop_nulls(TIME).write_csv()
