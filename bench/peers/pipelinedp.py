"""PipelineDP on this machine alone, without Beam or Spark."""

from typing import Any

import numpy as np
import pipeline_dp as pdp
import pyarrow.parquet as pq

from bench.peers.question import PeerQuestion, answer, nothing


def count(_: None, question: PeerQuestion) -> Any:
    """Its own accountant turns (epsilon, delta) into noise; with one Gaussian query that is exact."""
    visits = pq.read_table(question.visits, columns=["user_id", "cell"])
    rows = list(zip(visits["user_id"].to_pylist(), visits["cell"].to_pylist(), strict=True))
    accountant = pdp.NaiveBudgetAccountant(question.epsilon, question.delta)
    counted = pdp.DPEngine(accountant, pdp.LocalBackend()).aggregate(
        rows,
        pdp.AggregateParams(
            metrics=[pdp.Metrics.COUNT],
            noise_kind=pdp.NoiseKind.GAUSSIAN,
            max_partitions_contributed=question.cap,
            max_contributions_per_partition=1,
        ),
        pdp.DataExtractors(
            privacy_id_extractor=lambda row: row[0],
            partition_extractor=lambda row: row[1],
            value_extractor=lambda row: 1,
        ),
        public_partitions=range(question.cells),
    )
    accountant.compute_budgets()
    counts = np.zeros(question.cells)
    for cell, noisy in counted:
        counts[cell] = noisy.count
    return counts


if __name__ == "__main__":
    answer(nothing, count)
