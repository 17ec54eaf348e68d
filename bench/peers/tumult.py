"""Tumult Analytics, on Spark with the cores of this machine."""

import os
import sys
from typing import Any

import tmlt.analytics as ta
from pyspark.sql import SparkSession

from bench.peers.question import PeerQuestion, answer

HERE = "127.0.0.1"


def start() -> SparkSession:
    """A session whose JVM runs; Python workers must be of this environment to know Tumult."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    options = {
        "spark.driver.bindAddress": HERE,
        "spark.driver.host": HERE,
        "spark.driver.memory": "4g",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "4",
        "spark.ui.enabled": "false",
    }
    return SparkSession.builder.master("local[*]").config(map=options).getOrCreate()


def count(spark: SparkSession, question: PeerQuestion) -> Any:
    """Gaussian noise of the given rho."""
    budget = ta.RhoZCDPBudget(question.rho)
    session = ta.Session.from_dataframe(
        privacy_budget=budget,
        source_id="visits",
        dataframe=spark.read.parquet(question.visits).select("user_id", "cell"),
        protected_change=ta.AddRowsWithID("user_id"),
    )
    query = (
        ta.QueryBuilder("visits")
        .enforce(ta.MaxGroupsPerID("cell", question.cap))
        .enforce(ta.MaxRowsPerGroupPerID("cell", 1))
        .groupby(ta.KeySet.from_dataframe(spark.range(question.cells).toDF("cell")))
        .count(name="visits", mechanism=ta.CountMechanism.GAUSSIAN)
    )
    return session.evaluate(query, budget).toPandas().sort_values("cell")["visits"].to_numpy()


if __name__ == "__main__":
    answer(start, count)
