"""What runs the models of `dbt_like_sql/` next to the data: DuckDB on this machine, or Spark on others.

Records and visits are as large as the population; nothing but public lists goes in by way of this program, and
nothing but counts over them comes out. Whoever adds an engine offers these methods, and the same contract tests hold:
equal records give equal tables, row by row and type by type, hence the same truncation and the same sample.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any, Protocol

import polars as pl
import pyarrow as pa

from density_assets.calendar import HOURS, WeekClock, zone_of_records
from density_assets.records.event_files import mostly_unusable
from density_assets.records.files import RecordFile
from density_assets.settings.city import CitySettings
from resources.sql.models import Model
from resources.tables.store import Store

KEYS = 2_147_483_579  # user keys are below this prime, see truncated_visits.sql
PER_USER = ("visits", "truncated_visits")  # tables with a row per visit

Report = Callable[[str], None]


class Engine(Protocol):
    """Computes the tables of the visits side of one city."""

    def ingest(
        self, clock: WeekClock, files: Sequence[RecordFile], city: CitySettings, report: Report
    ) -> dict[str, int]:
        """Store the visits of a week of real records; returns how many records were rejected, by reason.

        report: told how far it is, and if most records cannot be used; may be heard by those only who may read them.
        """

    def materialise(self, name: str, week: date, parameters: dict[str, Any], report: Report) -> None:
        """Replace a week of the table that a model describes."""

    def counted(
        self, name: str, week: date, parameters: dict[str, Any], report: Report, by: tuple[str, ...] = ()
    ) -> pl.DataFrame:
        """What a model would say, without storing it: its sums, or the number of its rows `by` some columns."""


def small_tables(query: Model, store: Store) -> dict[str, pa.Table]:
    """The tables that a model reads besides those with a row per visit: public lists."""
    hours = pa.table({"hour": pa.array(range(HOURS), pa.int64())})
    small = [table for table in query.reads if table not in PER_USER]
    return {table: hours if table == "hours" else store.read_public(table).to_arrow() for table in small}


def unusable_warning(counts: Mapping[str, int], store: Store, week: date) -> str:
    """What to say of a week of which most records cannot be used, and where it says more; else nothing."""
    warning = mostly_unusable(counts)
    return f"visits: {warning}. See {store.confidential}/about/visits/{week}.json" if warning else ""


def clock_parameters(clock: WeekClock, city: CitySettings) -> dict[str, Any]:
    """What `events.sql` asks for: when the week begins, and what to add to UTC before and after clocks change in it.

    The same of the clocks that times without a zone were read off is `written_`.
    """
    change, before, after = zone_of_records(clock, city.visit_zone)
    return {
        "monday": clock.monday,
        "change": clock.change,
        "before": clock.before,
        "after": clock.after,
        "written_change": change,
        "written_before": before,
        "written_after": after,
    }


def used(query: Model, parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters that a model asks for."""
    return {name: value for name, value in parameters.items() if f"${name}" in query.sql}
