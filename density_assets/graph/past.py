"""What the past says: the state after each week, which the estimate of the next week starts from.

The state is a cache of a fold over draws, oldest week first. Its table names the draws it was made from; whoever needs
the state after some weeks takes the newest stored one that is made from the first of just these draws, and folds the
rest. So a week that was left out, a revision, or a table that is lost need no care: what does not fit is made again.
Tables lie in a folder that people can write to, so a stored state is believed only if the ledger notes its digest, as
it does when the week is published.
"""

import hashlib
import json
from collections.abc import Sequence
from itertools import chain

import numpy as np
import polars as pl

from density_assets.city import City
from density_assets.errors import BadInput
from density_assets.estimation.weeks.state import Measured, State
from density_assets.geography.tables import towers_from
from density_assets.graph.assets import asset
from density_assets.graph.columns import SETTINGS, column
from density_assets.graph.step import Made, Step
from density_assets.privacy.accounts import Accounts
from density_assets.privacy.estimates import WITH_EARLIER_WEEKS, DrawUsed, Estimated
from density_assets.privacy.zones import Zone
from density_assets.publication.pictures import week_rhythm
from density_assets.schemes import learning_scheme
from density_assets.schemes.learning import learned
from density_assets.schemes.scheme import SERIES, TOTALS

Weeks = Sequence[DrawUsed]

PAST = ("usual_week", TOTALS, SERIES)  # what an estimate with earlier weeks looks back at
DRAWN = ("noisy_totals.value", "noisy_series.value")
STATE: dict[str, type[pl.DataType]] = {
    "part": pl.String,
    "shape": pl.String,
    "values": pl.Binary,
    "draws": pl.String,
    "estimator": pl.Int64,
}


def learns(city: City) -> bool:
    """Whether weeks of a city can be estimated with what earlier weeks have said."""
    return learning_scheme(city.scheme.name) is not None


@asset(
    Zone.RELEASE,
    {
        "part": column(
            "what of the state it is: sums over weeks, how hours vary together, how far weeks drift", SETTINGS
        ),
        "shape": column("rows and columns of its numbers; empty for a single number", "towers.tower_id"),
        "values": column(
            "its numbers, 64 bits each, little-endian, row by row", *DRAWN, "towers.x", "towers.y", "usual_week.values"
        ),
        "draws": column("digests of the draws it is made of, oldest week first", *DRAWN, "usual_week.draws"),
        "estimator": column("version of the estimator", SETTINGS),
    },
    deps=(TOTALS, SERIES, "towers"),
    looks_back=PAST,
    given=("accounts", "estimated"),
    where=learns,
)
def usual_week(step: Step, accounts: Accounts, estimated: Estimated | None) -> Made:
    """What this week and those before it say of a usual week: the state that the next week's estimate starts from.

    Made from the state of the week before and this week's draws, at no cost: all of it is paid for and public. Empty
    for a week that was estimated alone, as all weeks were before there was an estimator that learns.
    """
    if estimated is None:
        return Made(pl.DataFrame(schema=STATE))
    weeks = (*estimated.used, estimated.own)
    state = state_after(step, weeks, accounts)
    if state is None:  # the estimator failed on every week
        return Made(pl.DataFrame(schema=STATE))
    parts = state.arrays()
    rhythm = (parts["total"] / np.maximum(parts["weight"], np.finfo(np.float64).tiny)).sum(axis=0)
    picture = week_rhythm(f"a usual week, from {len(weeks)} weeks", **{"weighted visits": rhythm})
    return Made(state_table(state, weeks), {"rhythm": picture}, {"weeks": len(weeks)})


def state_after(step: Step, weeks: Weeks, accounts: Accounts) -> State | None:
    """What is known after some weeks; none before the first."""
    state, known = _newest_state(step, weeks, accounts)
    return folded(step, weeks[known:], accounts, state)


def folded(step: Step, weeks: Weeks, accounts: Accounts, state: State | None = None) -> State | None:
    """What is known after some weeks more, in the order in which they are given."""
    xy = towers_from(step.read("towers")).xy
    for week in weeks:
        state = learned(state, measured_in(step, week, accounts), xy)
    return state


def refuse_unknown_draws(step: Step, weeks: Weeks, accounts: Accounts) -> None:
    """Raise if a draw that an estimate names is lost, damaged or unpaid.

    A stored state spares the folding, not this: an estimate must be reproducible from the draws that it names.
    """
    for week in weeks:
        for door in week.doors:
            step.read.draw(door, week, accounts)


def state_table(state: State, weeks: Weeks) -> pl.DataFrame:
    """One row per part of a state."""
    rows = [
        {
            "part": name,
            "shape": " ".join(map(str, part.shape)),
            "values": np.ascontiguousarray(part, "<f8").tobytes(),
            "draws": " ".join(_digests(weeks)),
            "estimator": WITH_EARLIER_WEEKS,
        }
        for name, part in state.arrays().items()
    ]
    return pl.DataFrame(rows, schema=STATE)


def state_from(table: pl.DataFrame) -> State:
    """The state that a table holds."""
    return State.of(
        {
            row["part"]: np.frombuffer(row["values"], "<f8").reshape([int(size) for size in row["shape"].split()])
            for row in table.iter_rows(named=True)
        }
    )


def state_digest(table: pl.DataFrame) -> str:
    """Of everything that the table of a state holds."""
    rows = table.select(*STATE).sort("part").iter_rows(named=True)
    parts = [json.dumps({**row, "values": hashlib.sha256(row["values"]).hexdigest()}, sort_keys=True) for row in rows]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _newest_state(step: Step, weeks: Weeks, accounts: Accounts) -> tuple[State | None, int]:
    """The newest published state that is made of the first of these draws, and of how many weeks; none of no week."""
    made_of = {_digests(weeks[:number]): number for number in range(1, len(weeks) + 1)}
    published = {entry.body.get("state") for entry in accounts.of("published")}
    try:
        for table in step.read.weeks_before("usual_week"):
            if not STATE.items() <= dict(table.schema).items() or sum(table.null_count().row(0)):
                continue  # not a state; stored weeks also say which week and release they are of
            draws = tuple(table["draws"][0].split()) if len(table) else ()
            if draws in made_of and table["estimator"][0] == WITH_EARLIER_WEEKS and state_digest(table) in published:
                return state_from(table), made_of[draws]
    except BadInput as damaged:
        step.warn(f"what was known of earlier weeks is made again from their draws: {damaged}")
    return None, 0


def _digests(weeks: Weeks) -> tuple[str, ...]:
    return tuple(chain.from_iterable(week.digests for week in weeks))


def measured_in(step: Step, week: DrawUsed, accounts: Accounts) -> Measured:
    """What the doors drew of a week, under the noise that was paid for then."""
    scheme = learning_scheme(step.release.scheme)
    assert scheme is not None  # only such weeks have an estimate that names draws
    plan = {door: accounts.by_hash[draw.charge].charge.events for door, draw in week.doors.items()}
    values = {door: step.read.draw(door, week, accounts) for door in week.doors}
    return scheme.measured(plan, values[TOTALS], values[SERIES])
