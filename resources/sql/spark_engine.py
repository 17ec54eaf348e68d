"""Runs the models of `dbt_like_sql/` on Spark: for records that lie where Spark is, or that no machine holds alone.

Tables with a row per visit are written where they are made, as folders of Parquet files (`weeks.py`); what is
counted comes back here and is stored as by any engine. Equal records give equal rows; only their order is free.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
import sqlglot

from density_assets.calendar import WeekClock
from density_assets.records.event_files import USABLE
from density_assets.records.files import RecordFile
from density_assets.settings import EngineSettings
from density_assets.settings.city import CitySettings
from resources.sql.engine import IN_SPARK, PER_USER, Report, clock_parameters, small_tables, unusable_warning, used
from resources.sql.models import Model, model
from resources.sql.spark_records import hadoop_path, no_records, open_records
from resources.sql.spark_session import clearly, spark_session
from resources.tables.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SEVERAL_LOOKS = ("truncated_visits",)  # models that group a user's rows more than once: they travel once for all looks


class SparkEngine:
    """Spark over the tables of one city."""

    def __init__(self, store: Store, settings: EngineSettings) -> None:
        self._store = store
        self._settings = settings

    def ingest(
        self, clock: WeekClock, files: Sequence[RecordFile], city: CitySettings, report: Report
    ) -> dict[str, int]:
        """Store the visits of a week of real records; returns how many records were rejected, by reason."""
        with self._session("visits", report) as session:
            records = open_records(session, [str(file) for file in files], city) if files else no_records(session)
            records.createOrReplaceTempView("records")
            _offer(session, "antennas", self._store.read_public("antennas").to_arrow())
            session.sql(IN_SPARK)
            events = session.sql(spark_sql(model("events")), clock_parameters(clock, city))
            events.createOrReplaceTempView("events")
            self._store_rows(session, "visits", clock.week, session.sql(spark_sql(model("visits"))))
            reasons = {reason or USABLE: number for reason, number in events.groupBy("rejection").count().collect()}
        if warning := unusable_warning(reasons, self._store, clock.week):
            report(warning)
        report("visits: 100%")
        return {reason: number for reason, number in sorted(reasons.items()) if reason != USABLE}

    def materialise(self, name: str, week: date, parameters: dict[str, Any], report: Report) -> None:
        """Replace a week of the table that a model describes."""
        query = model(name)
        with self._session(name, report) as session:
            rows = self._rows(session, query, week, parameters)
            if query.summed:
                with self._store.writing_week(name, week) as writer:
                    writer.write(_ordered(rows, query.keys).to_arrow())
            else:
                self._store_rows(session, name, week, rows)
        report(f"{name}: 100%")

    def counted(
        self, name: str, week: date, parameters: dict[str, Any], report: Report, by: tuple[str, ...] = ()
    ) -> pl.DataFrame:
        """What a model would say, without storing it: its sums, or the number of its rows `by` some columns."""
        from pyspark.sql import functions as f  # an extra

        query = model(name)
        with self._session(name, report) as session:
            rows = self._rows(session, query, week, parameters)
            if query.summed:
                return _ordered(rows, query.keys)
            return _ordered(rows.groupBy(*by).agg(f.count("*").alias("rows")), by).cast({"rows": pl.UInt32})

    @contextmanager
    def _session(self, name: str, report: Report) -> Iterator["SparkSession"]:
        session = spark_session(self._settings, self._store.confidential, report)
        with clearly(f"{name}.sql"):
            yield session

    def _rows(self, session: "SparkSession", query: Model, week: date, parameters: dict[str, Any]) -> "DataFrame":
        for table, content in small_tables(query, self._store).items():
            _offer(session, table, content)
        for table in [table for table in query.reads if table in PER_USER]:
            rows = session.read.parquet(*map(hadoop_path, self._store.current_week(table, week).files))
            rows = rows.repartition("user_id") if query.name in SEVERAL_LOOKS else rows
            rows.createOrReplaceTempView(table)
        return session.sql(spark_sql(query), used(query, parameters))

    def _store_rows(self, session: "SparkSession", name: str, week: date, rows: "DataFrame") -> None:
        """Write rows where they are made. What they hold is named by sums over them: files come in any order."""
        from pyspark.sql import functions as f  # an extra

        columns = rows.columns
        with self._store.gathering_week(name, week) as attempt:
            folder = hadoop_path(attempt.folder)
            rows.select(f.lit(week).alias("week"), *columns).write.mode("append").parquet(folder)
            written = session.read.parquet(folder)
            row = f.xxhash64(*columns).cast("decimal(38, 0)")
            sums = written.agg(f.count("*"), f.sum(row), f.sum(f.abs(row))).collect()[0]
            attempt.content = f"{name} {week} {list(sums)}"


def spark_sql(query: Model) -> str:
    """A model as Spark reads it. Its rows are in no order: files of a folder have none, and to sort costs a shuffle."""
    tree = sqlglot.parse_one(query.sql, dialect="duckdb")
    tree.set("order", None)
    return tree.sql(dialect="spark", comments=False)


def _offer(session: "SparkSession", name: str, table: pa.Table) -> None:
    session.createDataFrame(table).createOrReplaceTempView(name)


def _ordered(rows: "DataFrame", keys: Sequence[str]) -> pl.DataFrame:
    """Few rows, in the order of their keys."""
    frame = pl.DataFrame(rows.toArrow())
    return frame.sort(keys) if keys else frame
