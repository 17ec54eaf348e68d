"""OpenDP's context over Polars."""

from typing import Any

import numpy as np
import opendp.prelude as dp
import polars as pl

from bench.peers.question import PeerQuestion, answer, nothing


def count(_: None, question: PeerQuestion) -> Any:
    """Whoever has too many cells keeps those of the smallest numbers, so these are dealt out anew, at random.

    By default OpenDP would take the smallest hashes instead, which fails in Polars: "multiple fields with name 'cell'".
    Ranks start at one, so that of a cap of 30 it keeps 29.
    """
    number = np.random.default_rng(1).permutation(question.cells)
    renumbered = pl.lit(pl.Series(number)).gather(pl.col("cell")).alias("cell")
    context = dp.Context.compositor(
        data=pl.scan_parquet(question.visits).select("user_id", renumbered),
        privacy_unit=dp.unit_of(contributions=1, identifier="user_id"),
        privacy_loss=dp.loss_of(rho=question.rho),
        split_evenly_over=1,
        margins=[dp.polars.Margin(by=["cell"], max_groups=question.cells)],
    )
    noisy = (
        context.query()
        .truncate_per_group(1, by=["cell"])
        .truncate_num_groups(question.cap, by=["cell"], keep="first")
        .group_by("cell")
        .agg(dp.len(signed=True).alias("visits"))
        .with_keys(pl.LazyFrame({"cell": range(question.cells)}))
        .release()
        .collect()
    )
    return noisy.sort("cell")["visits"].to_numpy()[number]


if __name__ == "__main__":
    dp.enable_features("contrib")
    answer(nothing, count)
