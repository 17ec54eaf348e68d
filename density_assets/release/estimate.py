"""What the noisy numbers of a week say of each cell, and of sums of cells: the estimate, first and final.

An estimate is made of stored draws, which the ledger knows, and of the public geography; nothing else enters. Where the
scheme learns, it starts from what earlier weeks have said: the state after them, a fold over their draws, oldest first.
A final estimate stands between the states of all weeks before it and of all weeks after it.

States are kept as tables, because folding all weeks anew would cost as much as all weeks did. They lie in a folder that
people can write to, so a stored state is used only if the ledger notes its digest, as it does when its week is
published; it names the draws it is made of, so one that does not fit is made again from draws.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import chain
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from density_assets import series
from density_assets.calendar import week_clock
from density_assets.errors import BadInput
from density_assets.estimation.weeks.estimate import WeekEstimate
from density_assets.estimation.weeks.state import Measured, State
from density_assets.geography.places import Places
from density_assets.geography.tables import place_ids, places_from
from density_assets.privacy.accounts import Accounts
from density_assets.privacy.estimates import FINAL, DoorDraw, DrawUsed, Estimated
from density_assets.privacy.release import Release
from density_assets.publication.sum_errors import SCHEMA, errors_table
from density_assets.schemes import SCHEMES, learning_scheme
from density_assets.schemes.drawn_tables import series_from, series_table, totals_from, totals_table
from density_assets.schemes.learning import estimate_after, in_cells, learned, sums_after, sums_in_cells, week_between
from density_assets.schemes.scheme import SERIES, TOTALS, Estimate, Scheme, alone
from density_assets.settings import Settings

Draws = Sequence[DrawUsed]
Values = dict[str, NDArray[Any]]

STATES = "usual_week"  # the table of states
STATE: dict[str, type[pl.DataType]] = {
    "part": pl.String,
    "shape": pl.String,
    "values": pl.Binary,
    "draws": pl.String,
}


class Source(Protocol):
    """Opens what an estimate is made of: draws that the ledger knows, and stored states of earlier weeks."""

    def draw(self, door: str, used: DrawUsed, accounts: Accounts) -> Values: ...
    def draw_content(self, door: str, used: DrawUsed, accounts: Accounts) -> bytes: ...
    def weeks_before(self, asset: str) -> Iterator[pl.DataFrame]: ...


@dataclass(frozen=True)
class Estimation:
    """The estimate of one week; each part is computed when it is first asked for.

    settings: as the week was drawn under. release: what was drawn.
    tables: the public geography that the places of the scheme need, by name.
    source: opens draws and states. accounts: the ledger. paid_by: hashes of the charges of the week's own draws.
    estimated: which draws enter; none where the scheme knows no other week.
    """

    settings: Settings
    release: Release
    tables: Mapping[str, pl.DataFrame]
    source: Source
    accounts: Accounts
    paid_by: frozenset[str]
    estimated: Estimated | None

    @property
    def is_final(self) -> bool:
        """Whether later weeks enter."""
        return self.estimated is not None and self.estimated.vintage == FINAL

    @property
    def alone(self) -> bool:
        """Whether the estimator failed, so that the week was estimated from its own draws."""
        return self.estimated is not None and not self.is_final and self._learned is None

    @cached_property
    def own(self) -> DrawUsed:
        """The draws of the week itself."""
        rows = [row for row in self.accounts.rows if row.hash in self.paid_by]
        doors = {row.charge.door: DoorDraw(row.hash, row.charge.measurement, row.digest or "") for row in rows}
        return DrawUsed(self.release.week, self.release.revision, doors)

    @property
    def used(self) -> list[DrawUsed]:
        """Every draw that enters, the week's own last."""
        return [*(self.estimated.used if self.estimated else ()), self.own]

    @cached_property
    def totals_table(self) -> pl.DataFrame:
        """The noisy totals of the week; empty if the scheme needs none."""
        drawn = self._drawn.get(TOTALS)
        return totals_table({}, {}) if drawn is None else totals_table(drawn, self.release.doors)

    @cached_property
    def series_table(self) -> pl.DataFrame:
        """The noisy series of the week."""
        return series_table(self._drawn[SERIES])

    @cached_property
    def clusters(self) -> NDArray[np.int64]:
        """The cluster of each place; without clusters, every place alone."""
        if not self._scheme.clustered:
            return alone(len(place_ids(self.tables.__getitem__, self._scheme.places)))
        return self._scheme.clusters(self.release.doors, totals_from(self.totals_table), self.places)

    @cached_property
    def places(self) -> Places:
        """What the scheme counts at, and how that becomes cells."""
        return places_from(self.tables.__getitem__, self._scheme.places)

    @cached_property
    def cells(self) -> pl.DataFrame:
        """Visits of each cell and hour, not yet rounded, and how far noise may have moved them."""
        estimate = self._between_in_cells if self.is_final else self._learned
        if estimate is None:
            drawn = totals_from(self.totals_table), self.clusters, series_from(self.series_table)
            estimate = self._scheme.estimate(self.settings, self.release.doors, *drawn, self.places)
        visits = self.places.to_cells(self._scheme.places) @ estimate.series
        return series.table(self.tables["cells"].select("cell_id"), visits=visits, standard_error=estimate.cell_error)

    @cached_property
    def sums(self) -> pl.DataFrame:
        """Errors of sums of cells; empty where the estimate does not tell them, or not in finite numbers."""
        if self.estimated is None or self.alone:
            return pl.DataFrame(schema=SCHEMA)
        to_cells = self.places.to_cells("towers")
        if self.is_final:
            summary = sums_in_cells(self._between, to_cells)
        else:
            summary = sums_after(self._past, self._measured(self.own), to_cells, self.places.tower_xy)
        if summary is None:
            return pl.DataFrame(schema=SCHEMA)
        table = errors_table(summary, self.tables["cells"]["cell_id"])
        # An hour that clocks skip has no counts, so no errors either: what is not listed is zero.
        missing = list(week_clock(date.fromisoformat(self.release.week), self.settings.city.zone).missing)
        return table.filter(pl.col("hour").is_null() | ~pl.col("hour").is_in(missing))

    @cached_property
    def state(self) -> pl.DataFrame:
        """What is known after this week, which the next one starts from; empty where nothing is."""
        if self.estimated is None or (state := self.state_after(self.used)) is None:
            return pl.DataFrame(schema=STATE)
        return state_table(state, self.used)

    def state_after(self, weeks: Draws) -> State | None:
        """Return what is known after some weeks; none before the first."""
        state, known = self._newest_state(weeks)
        return self._folded(weeks[known:], state)

    @cached_property
    def _scheme(self) -> Scheme:
        return SCHEMES[self.release.scheme]

    @cached_property
    def _drawn(self) -> dict[str, Values]:
        return {door: self.source.draw(door, self.own, self.accounts) for door in self.own.doors}

    @cached_property
    def _past(self) -> State | None:
        """The state that the estimate starts from.

        Every draw is opened, though a stored state spares the folding: an estimate must be reproducible from the draws
        that it names.
        """
        for week in self.used:
            for door in week.doors:
                self.source.draw(door, week, self.accounts)
        assert self.estimated is not None  # asked for where the scheme learns
        return self.state_after(self.estimated.earlier)

    @cached_property
    def _learned(self) -> Estimate | None:
        """The first estimate with what earlier weeks have said; none where the scheme or the estimator has none."""
        if self.estimated is None:
            return None
        to_cells, xy = self.places.to_cells("towers"), self.places.tower_xy
        return estimate_after(self._past, self._measured(self.own), to_cells, xy)

    @cached_property
    def _between(self) -> WeekEstimate:
        """The final estimate; raises where it is not of finite numbers."""
        assert self.estimated is not None  # asked for by final estimates
        after = self._folded(self.estimated.later[::-1], None)
        estimate = week_between(self._past, after, self._measured(self.own), self.places.tower_xy)
        if estimate is None:
            raise self._not_finite()
        return estimate

    @cached_property
    def _between_in_cells(self) -> Estimate:
        estimate = in_cells(self._between, self.places.to_cells("towers"))
        if estimate is None:
            raise self._not_finite()
        return estimate

    def _not_finite(self) -> BadInput:
        return BadInput(
            f"the final estimate of {self.release.week} is not of finite numbers; the week keeps its first estimate"
        )

    def _measured(self, week: DrawUsed) -> Measured:
        """What the doors drew of a week, under the noise that was paid for then."""
        scheme = learning_scheme(self.release.scheme)
        assert scheme is not None  # only such weeks have an estimate that names draws
        plan = {door: self.accounts.by_hash[draw.charge].charge.events for door, draw in week.doors.items()}
        values = {door: self.source.draw(door, week, self.accounts) for door in week.doors}
        return scheme.measured(plan, values[TOTALS], values[SERIES])

    def _folded(self, weeks: Draws, state: State | None) -> State | None:
        """What is known after some weeks more, in the order in which they are given."""
        for week in weeks:
            state = learned(state, self._measured(week), self.places.tower_xy)
        return state

    def _newest_state(self, weeks: Draws) -> tuple[State | None, int]:
        """The newest published state that is made of the first of these draws, and of how many weeks it is made."""
        made_of = {_digests(weeks[:number]): number for number in range(1, len(weeks) + 1)}
        published = {entry.body.get("state") for entry in self.accounts.of("published")}
        try:
            for table in self.source.weeks_before(STATES):
                if not STATE.items() <= dict(table.schema).items() or sum(table.null_count().row(0)):
                    continue  # not a state; stored weeks also say which week and release they are of
                draws = tuple(table["draws"][0].split()) if len(table) else ()
                if draws in made_of and state_digest(table) in published:
                    return state_from(table), made_of[draws]
        except BadInput:
            pass  # a damaged table: what it held is made again from draws
        return None, 0


def state_table(state: State, weeks: Draws) -> pl.DataFrame:
    """Return one row per part of a state."""
    rows = [
        {
            "part": name,
            "shape": " ".join(map(str, part.shape)),
            "values": np.ascontiguousarray(part, "<f8").tobytes(),
            "draws": " ".join(_digests(weeks)),
        }
        for name, part in state.arrays().items()
    ]
    return pl.DataFrame(rows, schema=STATE)


def state_from(table: pl.DataFrame) -> State:
    """Return the state that a table holds."""
    return State.of(
        {
            row["part"]: np.frombuffer(row["values"], "<f8").reshape([int(size) for size in row["shape"].split()])
            for row in table.iter_rows(named=True)
        }
    )


def state_digest(table: pl.DataFrame) -> str:
    """Return the digest of everything that the table of a state holds."""
    rows = table.select(*STATE).sort("part").iter_rows(named=True)
    parts = [json.dumps({**row, "values": hashlib.sha256(row["values"]).hexdigest()}, sort_keys=True) for row in rows]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _digests(weeks: Draws) -> tuple[str, ...]:
    return tuple(chain.from_iterable(week.digests for week in weeks))
