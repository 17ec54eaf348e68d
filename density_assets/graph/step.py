"""What the function of an asset or check gets: who it is, which week, and the tables it may read, and no others.

The zone rule is kept three times. Declared edges are checked when definitions load (`catalogue.py`); every read of a
table goes through a `Reader`, which opens the inputs that are declared, and secret ones only for those who may, so that
what the lineage shows is what is read; and steps that may be handed out run in a process that cannot open confidential
files at all (`worker.py`).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl

from density_assets.calendar import WeekClock, week_clock
from density_assets.city import City
from density_assets.errors import BadInput
from density_assets.graph.acting import act_of_run
from density_assets.graph.automation import REBUILD
from density_assets.graph.naming import own
from density_assets.privacy.accounts import Accounts
from density_assets.privacy.acts import Act
from density_assets.privacy.estimates import DrawUsed
from density_assets.privacy.release import Release
from density_assets.privacy.zones import Zone, ZoneLeak
from density_assets.publication.files import Naming
from density_assets.settings import Settings
from resources.draws import Values, used_draw, used_draw_content
from resources.tables.released import ReleasedTables
from resources.tables.store import Store


@dataclass(frozen=True)
class Shelf:
    """Where the table of an asset is kept."""

    table: str
    zone: Zone
    weekly: bool


@dataclass(frozen=True)
class Reader:
    """Opens the tables that one asset declares.

    asset, zone: whose reader it is.
    inputs: the shelves of the assets it declares, of which it reads the week that is worked on.
    tables: what is opened; the released tables alone, or with the confidential ones.
    week, release: the week that is worked on, and what its release is today; none where there is no week, and before
        the geography is known.
    past: the shelves of the assets whose earlier weeks it declares to look back at.
    future: the shelves of the assets whose later weeks it declares to look ahead at.

    Guarantees: a table of an asset that is not declared, or of a zone that this one may not read, is never opened; nor
    is an earlier or a later week, unless looking back or ahead is declared.
    """

    asset: str
    zone: Zone
    inputs: Mapping[str, Shelf]
    tables: ReleasedTables
    week: date | None = None
    release: Release | None = None
    past: Mapping[str, Shelf] = field(default_factory=dict)
    future: Mapping[str, Shelf] = field(default_factory=dict)

    def __call__(self, asset: str) -> pl.DataFrame:
        """The table of an input, or its week of it."""
        shelf = self._shelf(asset)
        if not shelf.weekly:
            return self.tables.read_public(shelf.table)
        if shelf.zone.secret:
            return self._store().read_week(shelf.table, self.monday)
        return self.tables.read_release_week(shelf.table, self.monday, self.known_release.name)

    def before(self, asset: str) -> pl.DataFrame | None:
        """The newest earlier week of a released input; none if there is none."""
        return self.tables.read_week_before(self._past_shelf(asset).table, self.monday)

    def weeks_before(self, asset: str) -> Iterator[pl.DataFrame]:
        """All earlier weeks of a released input, the newest first."""
        return self.tables.read_weeks_before(self._past_shelf(asset).table, self.monday)

    def draw(self, door: str, used: DrawUsed, accounts: Accounts) -> Values:
        """What a door drew in this week or in another one, refused unless it is the draw that was paid for."""
        self._draw_shelf(door, used)
        return used_draw(self.tables.release, used, door, accounts)

    def draw_content(self, door: str, used: DrawUsed, accounts: Accounts) -> bytes:
        """The file of such a draw, refused likewise."""
        self._draw_shelf(door, used)
        return used_draw_content(self.tables.release, used, door, accounts)

    def exists(self, asset: str) -> bool:
        """Whether the week of a secret input is there."""
        table = self._shelf(asset).table
        return self._store().has_week(table, self.monday)

    def made(self, asset: str) -> bool:
        """Whether the week of a released input is there."""
        return self.tables.release_file(self._shelf(asset).table, self.monday).exists()

    def fingerprint(self, asset: str) -> str:
        """Keyed hash of the week of a secret input."""
        table = self._shelf(asset).table
        return self._store().week_fingerprint(table, self.monday)

    def rows(self, asset: str) -> int:
        """How many rows the week of a secret input has."""
        table = self._shelf(asset).table
        return self._store().week_shape(table, self.monday)[0]

    @property
    def monday(self) -> date:
        """The week that is worked on."""
        if self.week is None:
            raise BadInput(f"a week must be given to read what {self.asset} reads, got none: run it for one week")
        return self.week

    @property
    def known_release(self) -> Release:
        """The release of the week that is worked on."""
        if self.release is None:
            raise BadInput(f"{self.asset} must be run for one week, after the public assets: there is no release yet")
        return self.release

    def _shelf(self, asset: str) -> Shelf:
        if asset not in self.inputs:
            declared = ", ".join(self.inputs) or "nothing"
            raise ZoneLeak(f"{self.asset} must declare what it reads: it reads {asset}, and declares {declared}")
        shelf = self.inputs[asset]
        if not self.zone.may_read(shelf.zone):
            raise ZoneLeak(f"{self.asset} ({self.zone}) may not read {asset} ({shelf.zone}): only a door may")
        return shelf

    def _draw_shelf(self, door: str, used: DrawUsed) -> Shelf:
        """The shelf of a door, in the week of a draw."""
        week = date.fromisoformat(used.week)
        if week == self.monday:
            return self._shelf(door)
        return self._future_shelf(door) if week > self.monday else self._past_shelf(door)

    def _past_shelf(self, asset: str) -> Shelf:
        """The shelf of what it looks back at."""
        return self._other_weeks(asset, self.past, "back", "earlier")

    def _future_shelf(self, asset: str) -> Shelf:
        """The shelf of what it looks ahead at."""
        return self._other_weeks(asset, self.future, "ahead", "later")

    def _other_weeks(self, asset: str, shelves: Mapping[str, Shelf], where: str, which: str) -> Shelf:
        if asset not in shelves:
            self._shelf(asset)
            declared = ", ".join(shelves) or "nothing"
            raise ZoneLeak(
                f"{self.asset} must declare what it looks {where} at: it reads {which} weeks of {asset}, and declares "
                f"{declared}"
            )
        shelf = shelves[asset]
        if shelf.zone.secret or not self.zone.may_read(shelf.zone):
            raise ZoneLeak(f"{self.asset} may look {where} at released weeks only, got {asset}")
        return shelf

    def _store(self) -> Store:
        if not isinstance(self.tables, Store):
            raise ZoneLeak(f"{self.asset} ({self.zone}) has no way to confidential tables")
        return self.tables


def _nowhere(_: str) -> None:
    """What is said before anybody listens."""


@dataclass(frozen=True)
class Step:
    """One asset or check at work on one week, or on all.

    read: opens what it declares.
    say, warn: take lines for whoever watches the run.
    """

    settings: Settings
    read: Reader
    say: Callable[[str], None] = _nowhere
    warn: Callable[[str], None] = _nowhere

    @property
    def name(self) -> str:
        """The name of the asset or check."""
        return self.read.asset

    @property
    def week(self) -> date:
        """The Monday of the week that is worked on."""
        return self.read.monday

    @property
    def clock(self) -> WeekClock:
        """The clock of the week."""
        return week_clock(self.week, self.settings.city.zone)

    @property
    def release(self) -> Release:
        """The release of the week."""
        return self.read.known_release

    @property
    def folder(self) -> Path:
        """Where published files lie."""
        return self.read.tables.release

    @property
    def home(self) -> Path:
        """The folder under which all cities are kept."""
        return self.read.tables.folder.parent

    @property
    def files(self) -> Naming:
        """What the published files of the week are called."""
        return Naming(self.folder, str(self.week), self.settings.revision_of(str(self.week)))


@dataclass(frozen=True, kw_only=True)
class RecordStep(Step):
    """A step that may touch records: of the confidential zone, of evaluation, or a door.

    city: everything there is of it, as it was when the week was drawn.
    rebuilding: whether the run makes tables again from stored draws, and may draw nothing.
    act: who started the run, and why; none if nobody said.
    """

    city: City
    rebuilding: bool = False
    act: Act | None = None


def step_for(
    name: str,
    zone: Zone,
    inputs: Mapping[str, Shelf],
    city: City,
    week: date | None,
    context: dg.AssetExecutionContext | dg.AssetCheckExecutionContext,
    past: Mapping[str, Shelf],
    future: Mapping[str, Shelf] | None = None,
) -> Step:
    """What an asset or check of a zone gets: the way to records only if it is not free of them."""
    drawn = zone in (Zone.MECHANISM, Zone.RELEASE) or any(shelf.weekly and shelf.zone.open for shelf in inputs.values())
    release = city.release(week) if week and drawn else None
    tables = ReleasedTables(city.store.folder) if zone.free else city.store
    read = Reader(name, zone, inputs, tables, week, release, past, future or {})
    say, warn = context.log.info, context.log.warning
    if zone.free:
        return Step(city.settings, read, say, warn)
    rebuilding, act = context.run.job_name == own(city, REBUILD), act_of_run(context.run.tags, city.settings)
    return RecordStep(city.settings, read, say, warn, city=city, rebuilding=rebuilding, act=act)


@dataclass(frozen=True)
class Made:
    """What an asset made: its table (none if it is stored already), pictures (PNG or SVG) and facts.

    files: what is to be signed and published, by name.
    """

    table: pl.DataFrame | None
    pictures: dict[str, bytes] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
