"""Jobs: what is run together."""

import dagster as dg

from density_assets.partitions import WEEKS

weekly_release = dg.define_asset_job(
    "weekly_release",
    selection=dg.AssetSelection.all(),
    partitions_def=WEEKS,
    config={"loggers": {"console": {}}},
    description="One week of the city, from its records to everything derived from them.",
)
