"""OpenDP's context over Polars."""

from typing import Any

import opendp.prelude as dp
import polars as pl

from bench.peers.question import Question, answer, nothing


def count(_: None, question: Question) -> Any:
    """Whoever has too many cells keeps the first: as the rows are in no order, a random sample.

    By default OpenDP would sample itself, but then no release can be made of a count by public keys.
    """
    context = dp.Context.compositor(
        data=pl.scan_parquet(question.visits).select("user_id", "cell"),
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
    return noisy.sort("cell")["visits"].to_numpy()


if __name__ == "__main__":
    dp.enable_features("contrib")
    answer(nothing, count)
