"""The ledger as a table: what every release has cost, for the UI and for SQL."""

import dagster as dg
import polars as pl

from density_assets.graph.zones import Made, Zone, asset, column
from density_assets.privacy.charges import Row, charged_events
from density_assets.privacy.planning import cost_of

SCHEMA: dict[str, type[pl.DataType]] = {
    "row": pl.Int64,
    "at": pl.String,
    "population": pl.String,
    "city": pl.String,
    "week": pl.String,
    "revision": pl.Int64,
    "door": pl.String,
    "epsilon": pl.Float64,
    "delta": pl.Float64,
    "events": pl.String,
    "year_epsilon": pl.Float64,
    "drawn": pl.Boolean,
    "hash": pl.String,
}


@asset(
    Zone.RELEASE,
    {
        "row": column("position in the ledger"),
        "at": column("the day it was charged, UTC"),
        "population": column("whose budget was charged"),
        "city": column("the city released"),
        "week": column("the week released"),
        "revision": column("1, or what a person declared to permit a second draw"),
        "door": column("the mechanism asset that draws"),
        "epsilon": column("promise of the whole release"),
        "delta": column("promise of the whole release"),
        "events": column("what this door spends"),
        "year_epsilon": column(
            "what all charges of the population's year cost together up to here, at the budget's delta"
        ),
        "drawn": column("whether noise was drawn under this charge"),
        "hash": column("hash of this row, which holds the hash of the row before"),
    },
    deps=("noisy_totals", "noisy_series"),
    kinds=("sqlite", "duckdb"),
    weekly=False,
)
def ledger(context: dg.AssetExecutionContext) -> Made:
    """What every release has cost: a copy of the ledger, readable here and by SQL.

    The ledger itself is one SQLite file for everything under the home folder. Charges depend on settings only, never on
    records.
    """
    delta = context.resources.settings.privacy.budget_delta
    rows = context.resources.ledger.rows()
    table = pl.DataFrame([_as_record(row, rows[: row.row], delta) for row in rows], schema=SCHEMA)
    newest = "\n".join(
        f"| {record['week']} | {record['door']} | {record['epsilon']:g} | {record['year_epsilon']:.3f} |"
        for record in table.tail(8).to_dicts()
    )
    markdown = f"| week | door | epsilon | year so far |\n|---|---|--:|--:|\n{newest}"
    return Made(table, facts={"charges": len(rows), "newest": dg.MetadataValue.md(markdown)})


def _as_record(row: Row, upto: list[Row], delta: float) -> dict[str, object]:
    charge = row.charge
    events = charged_events(upto, charge.population, charge.week[:4])
    return {
        "row": row.row,
        "at": row.at,
        "population": charge.population,
        "city": charge.city,
        "week": charge.week,
        "revision": charge.revision,
        "door": charge.door,
        "epsilon": charge.epsilon,
        "delta": charge.delta,
        "events": "; ".join(str(event) for event in charge.events),
        "year_epsilon": cost_of(events, [], 0, delta),
        "drawn": row.drawn,
        "hash": row.hash,
    }
