"""A city: its settings, the folder it is kept under, and everything made of these, made once and passed down.

Nothing else decides by the environment which city is meant, and nothing is decided at import: two cities with different
schemes can live in one process. Stores are opened when they are first used, so that a city can be described without
touching a disk.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from pathlib import Path

from density_assets.errors import BadInput
from density_assets.geography.cells_and_towers import geography_hash
from density_assets.geography.tables import cells_from, footprints_from, towers_from
from density_assets.privacy.acts import Act
from density_assets.privacy.charges import population_name
from density_assets.privacy.estimates import Estimated, estimated_with_all_weeks, estimated_with_earlier_weeks
from density_assets.privacy.noise import Noise, OpenDpNoise
from density_assets.privacy.release import Release
from density_assets.publication.files import Naming
from density_assets.publication.software import software
from density_assets.records.files import named_files, refuse_our_files
from density_assets.schemes import SCHEMES, learning_scheme
from density_assets.schemes.asked import asked_release, drawn_release, settings_as_drawn
from density_assets.schemes.scheme import Plan, Scheme
from density_assets.settings import Settings
from density_assets.settings.environment import all_settings_here, home_here, others, settings_here
from density_assets.settings.values import is_url
from resources.anchors import Anchors
from resources.draws import witnesses_under
from resources.ledger.ledger import Ledger, Order, may_charge
from resources.ledger.opening import open_by_itself
from resources.ledger.sqlite import book_of
from resources.ledger.witnesses import Witnesses
from resources.measurements import Measurements
from resources.signing import Keys
from resources.sql.duckdb_engine import DuckdbEngine
from resources.sql.engine import Engine
from resources.tables.stamps import difference, stamp_values
from resources.tables.store import Store
from resources.tables.weeks import roots_under

GEOGRAPHY_TABLES = ("cells", "towers", "overlaps")  # that a release is identified by


@dataclass(frozen=True)
class City:
    """One city and what it is kept in.

    home: the folder under which all cities of one ledger are kept.
    noise: where draws come from; releases of anything but OpenDP's are refused.
    sealed: whether steps that may be handed out run without a way to the confidential folders.
    others: settings of the cities that share its Dagster instance, whose files are as secret as its own.
    """

    settings: Settings
    home: Path
    noise: Noise = field(default_factory=OpenDpNoise)
    sealed: bool = True
    others: tuple[Settings, ...] = ()

    @classmethod
    def here(cls) -> "City":
        """The city the environment names: `DENSITY_SETTINGS` (none: the embedded city) under `DENSITY_HOME`."""
        chosen, beside = settings_here()
        return cls(chosen, home_here(), others=beside)

    @classmethod
    def all_here(cls) -> "list[City]":
        """All cities of the Dagster instance that the environment names."""
        every = all_settings_here()
        return [cls(settings, home_here(), others=others(settings, every)) for settings in every]

    @property
    def name(self) -> str:
        """Its name, which is that of its folder."""
        return self.settings.city.name

    def refuse_our_files(self) -> None:
        """Raise if the settings name, as a list of one's own, what this software keeps."""
        refuse_our_files(named_files(self.settings), self.home, roots_under(self.home))

    @property
    def synthetic(self) -> bool:
        """Whether its people do not exist, so that numbers about them may be shown."""
        return self.settings.city.synthetic

    @property
    def population(self) -> str:
        """Whose budget its releases are charged to."""
        return population_name(self.settings)

    @cached_property
    def scheme(self) -> Scheme:
        """How its noise is shaped."""
        return SCHEMES[self.settings.scheme.name]

    @cached_property
    def plan(self) -> Plan:
        """What each door of a release will spend. Calibration is a search, so it is done once."""
        return self.scheme.plan(self.settings)

    @cached_property
    def store(self) -> Store:
        """Its tables."""
        return Store(self.home, self.name, stamp_values(self.settings), self.weeks_root)

    @property
    def weeks_root(self) -> str | None:
        """Where confidential weeks lie if they are not files of the home."""
        root = self.settings.storage.weeks
        if root is None or is_url(root):
            return root
        return str(self.settings.path(root).absolute())

    @cached_property
    def engine(self) -> Engine:
        """What runs SQL over its confidential tables."""
        if self.settings.engine.name == "spark":
            from resources.sql.spark_engine import SparkEngine  # it may not be installed

            return SparkEngine(self.store, self.settings.engine)
        return DuckdbEngine(self.store, self.settings.engine)

    @cached_property
    def ledger(self) -> Ledger:
        """What every release under this home has cost."""
        return Ledger(self.home, book_of(self.settings, self.home))

    @cached_property
    def measurements(self) -> Measurements:
        """What its doors have drawn."""
        return Measurements(self.store, self.ledger, self.noise, self.anchors.witnesses, self._anchor_draw)

    @cached_property
    def keys(self) -> Keys:
        """What its releases are signed with."""
        return Keys(self.settings, self.home)

    def witnesses(self) -> Witnesses:
        """What its ledger must know; unlike its measurements it can be asked for where nothing is kept yet."""
        return witnesses_under(self.home) + self.anchors.witnesses()

    @property
    def anchors(self) -> Anchors:
        """Where heads of its ledger are kept outside the home."""
        return Anchors.of(self.settings, self.home)

    def anchor_head(self, *, create: bool = False) -> None:
        """Keep the ledger's newest entry wherever the settings say.

        create: whether a file that is not there is made; else it is refused, as if it had been taken away.
        """
        self.anchors.keep_newest(self.ledger, self.keys, create=create)

    def _anchor_draw(self) -> None:
        self.anchors.keep_newest(self.ledger, self.keys, drawing=True)

    def open_ledger(self, say: Callable[[str], None]) -> None:
        """Make sure that its people can be charged: the ledger of simulated ones opens by itself, and this says so."""
        if self.synthetic and not self.ledger.accounts().opened:
            open_by_itself(self.ledger, self.population, self.keys.new, self.witnesses())
            say(f"opened a ledger for simulated people: {self.ledger.book.address}; back it up")
        self.ledger.refuse_unready(self.population)

    def refuse_week(self, week: date, act: Act | None) -> None:
        """Raise what the doors would raise without looking at a record: so it can be asked for before any is read.

        A week that was charged before is left to the doors, which know what of it is drawn.
        """
        accounts = self.ledger.accounts(self.witnesses())
        if self.synthetic and not accounts.opened:
            return
        self.ledger.refuse_unready(self.population, accounts)
        release = self.release(week)
        if not accounts.charges_of(self.population, release.which):
            may_charge(accounts, [release.charge(door) for door in release.doors], self.order(release, act))

    def order(self, release: Release, act: Act | None) -> Order:
        """What a release is charged under: who asks, and what the settings say of the budget."""
        return Order(act, self.settings, release.record(), software())

    def release(self, week: date) -> Release:
        """The release of a week: what it was drawn for, or what today's settings and geography would draw."""
        return self._drawn(week) or self._asked(week)

    def estimated(self, week: date) -> Estimated | None:
        """Return what the first estimate of a drawn week is made of; none if its scheme knows no other week.

        It follows from the ledger alone, so it is the same whenever it is asked for.
        """
        release = self.release(week)
        if learning_scheme(release.scheme) is None:
            return None
        return estimated_with_earlier_weeks(self.ledger.accounts(), release)

    def estimated_finally(self, week: date) -> Estimated:
        """Return what a final estimate of a week is made of, as of today; raises where there can be none."""
        release, accounts = self.release(week), self.ledger.accounts()
        if learning_scheme(release.scheme) is None:
            raise BadInput(
                f"a final estimate must be of a scheme that learns from other weeks, but the week of {week} was drawn "
                f"by {release.scheme}: its first estimate is its last"
            )
        if not accounts.publications(release.which):
            raise BadInput(f"the week of {week} must be published before it is estimated again: release it first")
        return estimated_with_all_weeks(accounts, release)

    def unused_settings(self, week: date) -> str:
        """Which of today's settings a drawn week does without, in words; empty if none."""
        drawn = self._drawn(week)
        return difference(_decided(drawn), _decided(self._asked(week))) if drawn else ""

    def as_drawn(self, week: date) -> "City":
        """The city as it was when a week was drawn; itself if that makes no difference."""
        drawn = self._drawn(week)
        if drawn is None:
            return self
        settings = settings_as_drawn(self.settings, drawn)
        return self if settings is self.settings else replace(self, settings=settings)

    def _drawn(self, week: date) -> Release | None:
        """What a week was drawn for; none before."""
        key = (week, self.ledger.written())
        if key not in self._drawn_before:
            which = {"city": self.name, "week": str(week), "revision": self.settings.revision_of(str(week))}
            self._drawn_before[key] = drawn_release(self.ledger.accounts().charges_of(self.population, which))
        return self._drawn_before[key]

    @cached_property
    def _drawn_before(self) -> dict[tuple[date, tuple[int, ...]], Release | None]:
        """What was looked up, by week and by when the ledger was written."""
        return {}

    def _asked(self, week: date) -> Release:
        """The release under today's settings and geography."""
        key = (week, self.store.written(*GEOGRAPHY_TABLES))
        if key not in self._releases:
            self._releases[key] = asked_release(self.settings, self.scheme, self.plan, self.geography(), week)
        return self._releases[key]

    @cached_property
    def _releases(self) -> dict[tuple[date, tuple[int, ...]], Release]:
        """Those made before, by week and by when the geography they hash was written."""
        return {}

    def geography(self) -> str:
        """Of the public cells and towers, and of footprints if there are any; empty before they are made."""
        needed = GEOGRAPHY_TABLES if self.settings.city.footprints else GEOGRAPHY_TABLES[:2]
        if not all(self.store.written(*needed)):
            return ""
        written = self.store.written(*GEOGRAPHY_TABLES)
        if written not in self._geographies:
            cells, towers = (self.store.read_public(table) for table in ("cells", "towers"))
            # The table knows what shares it holds: settings may have changed since it was made.
            shares = footprints_from(self.store.read_public("overlaps")) if written[-1] else []
            self._geographies[written] = geography_hash(cells_from(cells), towers_from(towers), shares)
        return self._geographies[written]

    @cached_property
    def _geographies(self) -> dict[tuple[int, ...], str]:
        """Those hashed before, by when they were written: each asset of a week asks."""
        return {}

    def towers(self) -> int | None:
        """How many public towers there are; none before they are made. Asking leaves a home as it is."""
        if not (self.home / self.name).exists():
            return None
        return len(self.store.read_public("towers")) if all(self.store.written("towers")) else None

    def files(self, week: date) -> Naming:
        """Where the published files of a week lie."""
        return Naming(self.store.release, str(week), self.settings.revision_of(str(week)))


def _decided(release: Release) -> dict[str, object]:
    """What a person decided of a release."""
    said = {"epsilon": release.epsilon, "delta": release.delta, "scheme": release.scheme}
    return {**said, **release.parameters}
