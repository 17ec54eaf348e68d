"""A city: its settings, the folder it is kept under, and everything made of these, made once and passed down.

Nothing else reads the environment, and nothing is decided at import: two cities with different schemes can live in one
process. Stores are opened when they are first used, so that a city can be described without touching a disk.
"""

import os
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path

from density_assets.geography.cells_and_towers import geography_hash
from density_assets.geography.tables import cells_from, towers_from
from density_assets.privacy.charges import Budget, population_name
from density_assets.privacy.noise import Noise, OpenDpNoise
from density_assets.privacy.release import Release
from density_assets.publication.files import Naming
from density_assets.schemes import SCHEMES
from density_assets.schemes.scheme import Plan, Scheme
from density_assets.settings import Settings, load_settings
from resources.ledger.ledger import Ledger
from resources.measurements import Measurements
from resources.sql.engine import SqlEngine
from resources.tables.stamps import stamp_values
from resources.tables.store import Store

SHAPING = frozenset({"improved", "split", "weight_l"})  # settings that shape the draws of every scheme


@dataclass(frozen=True)
class City:
    """One city and what it is kept in.

    home: the folder under which all cities of one ledger are kept.
    noise: where draws come from; releases of anything but OpenDP's are refused.
    sealed: whether steps that may be handed out run without a way to the confidential folders.
    """

    settings: Settings
    home: Path
    noise: Noise = field(default_factory=OpenDpNoise)
    sealed: bool = True

    @classmethod
    def here(cls) -> "City":
        """The city the environment names: `DENSITY_SETTINGS` (none: the embedded city) under `DENSITY_HOME`."""
        file = os.environ.get("DENSITY_SETTINGS")
        return cls(load_settings(Path(file) if file else None), home_here())

    @property
    def name(self) -> str:
        """Its name, which is that of its folder."""
        return self.settings.city.name

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
        return Store(self.home, self.name, stamp_values(self.settings))

    @cached_property
    def engine(self) -> SqlEngine:
        """What runs SQL over its confidential tables."""
        return SqlEngine(self.store, self.settings.engine)

    @cached_property
    def ledger(self) -> Ledger:
        """What every release under this home has cost."""
        return Ledger(self.home)

    @cached_property
    def measurements(self) -> Measurements:
        """What its doors have drawn."""
        return Measurements(self.store, self.ledger, self.noise, Budget.of(self.settings))

    def release(self, week: date) -> Release:
        """The release of a week: everything that decides what it draws, under today's settings and geography."""
        key = (week, self.store.written("cells", "towers"))
        if key not in self._releases:
            self._releases[key] = self._release(str(week))
        return self._releases[key]

    @cached_property
    def _releases(self) -> dict[tuple[date, tuple[int, ...]], Release]:
        """Those made before, by week and by when the geography they hash was written."""
        return {}

    def _release(self, week: str) -> Release:
        settings, scheme = self.settings, self.scheme
        cells, towers = (self.store.read_public(table) for table in ("cells", "towers"))
        simulated = {"users", "seed"} if self.synthetic else set()
        return Release(
            population=self.population,
            city=self.name,
            week=week,
            revision=settings.revision_of(week),
            epsilon=settings.privacy.epsilon,
            delta=settings.privacy.delta,
            geography=geography_hash(cells_from(cells), towers_from(towers)),
            scheme=scheme.name,
            calibration=settings.scheme.calibration,
            version=scheme.version,
            parameters={
                **settings.privacy.model_dump(include={"visits_per_user", "visits_clamp"}),
                **settings.scheme.model_dump(include={*SHAPING, *scheme.own_settings}),
                **settings.city.model_dump(include={"timezone", *simulated}),
            },
            doors=self.plan,
        )

    def files(self, week: date) -> Naming:
        """Where the published files of a week lie."""
        return Naming(self.store.release, str(week), self.settings.revision_of(str(week)))


def home_here() -> Path:
    """The folder the environment names for everything that is kept."""
    return Path(os.environ.get("DENSITY_HOME") or "data").absolute()
