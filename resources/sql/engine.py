"""What runs the models of `dbt_like_sql/` next to the data: DuckDB on this machine, or Spark on others.

Records and visits are as large as the population; nothing but public lists goes in by way of this program, and
nothing but counts over them comes out. Whoever adds an engine offers these methods, and the same contract tests hold:
equal records give equal tables, row by row and type by type, hence the same truncation and the same sample.

The function `user_key` of `events.sql` is the one thing that SQL cannot say for both. The key of an identifier is its
MD5 as a number of 128 bits, little end first, modulo a prime (`docs/decisions/0003-the-user-key.md`). 2^32 is 138
modulo that prime, so the words of 32 bits of which the number consists can be reduced by themselves:
w0 + 138 w1 + 138^2 w2 + 138^3 w3 leaves the same remainder, and no product passes 2^54. DuckDB takes the remainder of
128 bits too, but in fifteen times the time; Spark has no such numbers.
"""

import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any, Protocol

import polars as pl
import pyarrow as pa

from density_assets.calendar import HOURS, WeekClock, zone_of_records
from density_assets.records.event_files import mostly_unusable
from density_assets.records.files import RecordFile
from density_assets.settings import Settings
from density_assets.settings.city import CitySettings
from resources.sql.models import Model
from resources.tables.store import Store

KEYS = 2_147_483_579  # user keys are below this prime, see truncated_visits.sql
WORD = pow(2, 32, KEYS)
DIGITS = 8  # of a word in hexadecimal
LOW = 2**64 - 1

IN_DUCKDB = f"""create or replace temp macro user_key(identifier) as cast((
  cast(md5_number(identifier) >> 64 as ubigint) % {KEYS} * {WORD**2}
  + cast(md5_number(identifier) & {LOW} as ubigint) % {KEYS}
) % {KEYS} as bigint)"""


def _word(number: int) -> str:
    """A word of the digest; its last byte comes first."""
    starts = range(DIGITS * number + DIGITS - 1, DIGITS * number, -2)
    return (
        f"cast(conv(concat({', '.join(f'substr(md5(identifier), {start}, 2)' for start in starts)}), 16, 10) as bigint)"
    )


IN_SPARK = f"""create or replace temporary function user_key(identifier string) returns bigint return (
  {" + ".join(f"{_word(number)} * {WORD**number}" for number in range(4))}
) % {KEYS}"""


PURPOSES = ("site", "hour", "visit")


def model_parameters(settings: Settings, store: Store, week: date, sample: int = 0) -> dict[str, Any]:
    """Parameters of every model; salts differ by week, so that weeks are sampled independently.

    Real people's salts come from the installation's secret, those of a synthetic city from its seed.
    sample: another number draws another sample; a release always uses 0, studies repeat the sampling.
    """
    key = str(settings.city.seed).encode() if settings.city.synthetic else store.secret
    again = f" {sample}" if sample else ""
    salts = {f"{purpose}_salt": _salt(key, f"{purpose} {week}{again}") for purpose in PURPOSES}
    return {
        "visits_per_user": settings.privacy.visits_per_user,
        "visits_clamp": settings.privacy.visits_clamp,
        "weight_l": settings.scheme.weight_l,
        "tower_l": settings.scheme.tower_l,
        **salts,
    }


def _salt(key: bytes, purpose: str) -> int:
    return int.from_bytes(hmac.new(key, purpose.encode(), hashlib.sha256).digest()) % KEYS


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
