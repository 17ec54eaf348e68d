"""Everything a person chooses, read from one TOML file and validated before anything runs.

Tables: `[city]` (what is counted), `[people]` (what turns visits into people), `[privacy]` (what is promised),
`[scheme]` (how it is kept), `[engine]` (what runs the SQL, and what it may use), `[storage]` (where confidential weeks
lie), `[alerts]` (who is told of a failed run),
`[operator]` (who schedules act for), `[signing]` (the key), `[anchor]` (where the ledger's head is kept as well),
`[ledger]` and `[dagster]` (databases that several machines share), `[web]` (by which names the UI is called) and
`[revisions]` (which weeks are released anew). Without a file the embedded city is used, at the size of the case study.
"""

import os
import re
from collections.abc import Iterator
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo, available_timezones

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from density_assets.errors import BadInput, nearest
from density_assets.people_settings import PeopleSettings
from density_assets.publication_settings import PublicationSettings
from density_assets.setting_types import (
    AboveZero,
    Address,
    Cap,
    Comparable,
    Count,
    Database,
    Delta,
    Epsilon,
    Flag,
    Memory,
    Name,
    Place,
    PlainPath,
    PlainPattern,
    Seed,
    Share,
    Threads,
    TimeFormat,
    Week,
    is_url,
    memory_bytes,
)
from density_assets.toml_files import explained, nested, read_toml, shown

EMBEDDED_USERS = 1_992_846  # Acs & Castelluccia 2014, §4.1
LISTS = {"web": ("names",)}  # keys that hold several values, by table
TABLES = {"city": ("visit_where",)}  # keys that hold named values


@cache
def known_zones() -> frozenset[str]:
    """Names of time zones; looked up once, because that reads a folder."""
    return frozenset(available_timezones())


OWN_KEYS = {  # of a city whose cells are its own
    *("cell_id", "cells_crs", "boundary", "towers", "tower_id", "tower_x", "tower_y", "tower_crs"),
    *("tower_valid_from", "tower_valid_to", "visits"),
    *("footprints", "footprint_tower", "footprint_cell", "footprint_share"),
}
CITY_NAME = re.compile("[a-z0-9][a-z0-9_-]{0,62}")  # that of its folder
KEPT_IN_HOMES = ("keys", "anchors")  # folders beside those of cities


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CitySettings(_Table):
    """Where cells, towers and visits come from."""

    name: Annotated[str, Field(pattern=f"^{CITY_NAME.pattern}$")] = "embedded"
    population: Count | None = None
    first_week: Week = date(2007, 9, 10)
    last_week: Week | None = None
    timezone: str = "Europe/Paris"
    cells: PlainPath | None = None
    cell_id: Name | None = None
    cells_crs: Name | None = None
    grid: Literal["inspire 1km"] | None = None
    boundary: PlainPath | None = None
    towers: PlainPath | None = None
    tower_id: Name | None = None
    tower_x: Name = "lon"
    tower_y: Name = "lat"
    tower_crs: Name = "EPSG:4326"
    tower_valid_from: Name | None = None
    tower_valid_to: Name | None = None
    footprints: PlainPath | None = None
    footprint_tower: Name = "tower_id"
    footprint_cell: Name = "cell_id"
    footprint_share: Name = "probability"
    visits: Place | None = None
    visits_complete: PlainPattern = "_SUCCESS"
    visit_user: Name = "user_id"
    user_form: Literal["as is", "trimmed", "digits only"] = "as is"
    visit_date: Name | None = None
    visit_time: Name = "time"
    visit_time_format: TimeFormat | None = None
    visit_timezone: str | None = None
    visit_tower: Name = "tower_id"
    visit_where: dict[Name, Comparable] = {}
    users: Count | None = None
    seed: Seed = 2007
    regions: PlainPath | None = None
    region_id: Name | None = None
    region_name: Name | None = None

    @property
    def synthetic(self) -> bool:
        """Whether the visits are simulated: nobody's data, so its numbers may be shown."""
        return self.visits is None

    @property
    def has_regions(self) -> bool:
        """Whether cells belong to regions."""
        return self.regions is not None or self.region_id is not None

    @property
    def embedded(self) -> bool:
        """Whether the geography is the invented one."""
        return self.cells is None and self.grid is None

    @property
    def simulated_users(self) -> int:
        """How many people to simulate."""
        return self.users or EMBEDDED_USERS

    @property
    def people(self) -> int | None:
        """How many there are: stated, or simulated; none if neither is known."""
        return self.population or (self.simulated_users if self.synthetic else None)

    @property
    def final_week(self) -> date | None:
        """The last week there is, if there is one: people who do not exist live for a year, if nothing is said."""
        return self.last_week or (self.first_week + timedelta(weeks=51) if self.synthetic else None)

    @field_validator("first_week", "last_week")
    @classmethod
    def _monday(cls, week: date | None) -> date | None:
        if week and week.weekday() != 0:
            raise ValueError(f"a week starts on a Monday, got {week:%A %Y-%m-%d}")
        return week

    @field_validator("name")
    @classmethod
    def _not_ours(cls, name: str) -> str:
        if name in KEPT_IN_HOMES:
            raise ValueError(f"must not be that of a folder which a home keeps for itself ({', '.join(KEPT_IN_HOMES)})")
        return name

    @field_validator("timezone", "visit_timezone")
    @classmethod
    def _known_zone(cls, timezone: str | None) -> str | None:
        if timezone is not None and timezone not in known_zones():
            raise ValueError(f"must be an IANA time zone, got {shown(timezone)}{nearest(timezone, known_zones())}")
        return timezone

    @property
    def zone(self) -> ZoneInfo:
        """The city's time zone."""
        return ZoneInfo(self.timezone)

    @property
    def visit_zone(self) -> ZoneInfo | None:
        """The zone of times that carry none and of days in paths, if it is not the city's."""
        return ZoneInfo(self.visit_timezone) if self.visit_timezone not in (None, self.timezone) else None

    @model_validator(mode="after")
    def _regions_are_somewhere(self) -> Self:
        if self.region_name and not self.has_regions:
            raise ValueError("region_name names a column of a table of regions: give regions or region_id as well")
        if self.cells is None and self.region_id and self.regions is None:
            raise ValueError("region_id is a column of the cells file, but there is none: give regions, a table")
        return self

    @model_validator(mode="after")
    def _weeks_in_order(self) -> Self:
        if self.last_week and self.last_week < self.first_week:
            raise ValueError(f"last_week must not lie before first_week, got {self.last_week} and {self.first_week}")
        return self

    @model_validator(mode="after")
    def _own_data_is_whole(self) -> Self:
        if self.embedded:
            if given := sorted(OWN_KEYS & self.model_fields_set):
                raise ValueError(f"{', '.join(given)} describe own data, which needs cells as well, or a grid")
            return self
        if self.grid and (self.cells or self.cell_id):
            raise ValueError("give either cells and cell_id (areas of your own) or grid, whose squares have names")
        if self.boundary and self.grid is None:
            raise ValueError("boundary says which squares of a grid are the city's: give grid as well")
        for key in ("towers",) if self.grid else ("cell_id", "towers"):
            if getattr(self, key) is None:
                raise ValueError(f"own cells need {key} as well")
        if "name" not in self.model_fields_set or self.name == "embedded":
            raise ValueError("own data needs a name of its own (lower-case letters, digits, - and _)")
        if (self.visits is None) == (self.users is None):
            raise ValueError("give either visits (records of real people) or users (how many to simulate)")
        if (self.tower_valid_from or self.tower_valid_to) and self.tower_id is None:
            raise ValueError("tower_valid_from and tower_valid_to tell rows of one antenna apart, which needs tower_id")
        if self.footprints and self.tower_id is None:
            raise ValueError("footprints name antennas by identifier, so the tower list needs tower_id")
        columns = {"footprint_tower", "footprint_cell", "footprint_share"} & self.model_fields_set
        if columns and self.footprints is None:
            named = ", ".join(sorted(columns))
            raise ValueError(f"{named} name columns of footprints: give footprints, a table, as well")
        if self.visits is not None and self.tower_id is None:
            raise ValueError("visits name towers by identifier, so the tower list needs tower_id")
        return self


class PrivacySettings(_Table):
    """What a release promises to one subscriber's week, and what all releases together may cost."""

    epsilon: Epsilon = 0.3
    delta: Delta = 1e-7
    visits_per_user: Cap = 30
    visits_clamp: Cap = 732
    budget_epsilon: Epsilon = 3.0
    budget_delta: Delta = 1e-7


class SchemeSettings(_Table):
    """How the noise is shaped."""

    name: Literal[
        "lpa", "gpa", "fpa", "efpa", "efpag", "efpag_iris", "lowrank",
        "direct", "threshold", "static_hybrid", "dynamic_hybrid",
    ] = "lowrank"  # fmt: skip
    calibration: Literal["sound", "published"] = "sound"
    improved: Flag = True
    split: Share | None = None
    weight_l: Cap = 20
    tower_l: Cap = 400
    tower_share: Share = 0.05
    change: AboveZero = 0.25
    releases: Annotated[Cap, Field(ge=2)] = 28
    comparing_share: Share = 0.05
    selecting_share: Share = 0.05
    moving_share: Share = 0.75
    window_weight: AboveZero = 0.3


class EngineSettings(_Table):
    """What runs the SQL: DuckDB, and what it may use of this machine; or Spark, and where that is.

    master: of Spark, such as `local[4]`, `spark://host:7077`, `yarn`; or `sc://host` for Spark Connect. Everything else
        Spark reads from its own `spark-defaults.conf`.
    """

    name: Literal["duckdb", "spark"] = "duckdb"
    master: Name | None = None
    memory: Memory = "800MB"
    threads: Threads = min(os.cpu_count() or 1, 8)
    rows_per_bucket: Annotated[Count, Field(ge=1_000)] = 3_000_000

    @property
    def memory_bytes(self) -> int:
        """The memory as a number."""
        return memory_bytes(self.memory)


class StorageSettings(_Table):
    """Where the weeks of confidential tables lie: in the home, or at a path or URL that other machines reach too."""

    weeks: Place | None = None


class AlertSettings(_Table):
    """Where a failed run is reported: a file that gets a line, an address that gets a request, both or neither."""

    file: PlainPath | None = None
    webhook: Address | None = None

    @property
    def wanted(self) -> bool:
        """Whether anybody is to be told."""
        return self.file is not None or self.webhook is not None


class OperatorSettings(_Table):
    """Who schedules and sensors act for, and why they may: it is recorded with every charge and published."""

    name: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    reason: Annotated[str, Field(min_length=1, max_length=200)] | None = None


class SigningSettings(_Table):
    """Where the key is that releases are signed with: a file, or `agent:` and the name of a key an SSH agent holds."""

    key: Annotated[str, Field(min_length=1)] | None = None


class AnchorSettings(_Table):
    """Where heads of the ledger are kept outside the home, so that no later ledger can deny them; by default nowhere.

    file: gets a line for each head. git: a repository that gets a commit for each.
    timestamp: URL of an authority that stamps each (RFC 3161).
    """

    file: PlainPath | None = None
    git: PlainPath | None = None
    timestamp: Annotated[str, Field(pattern=r"^https?://[^\s/]+")] | None = None


class LedgerSettings(_Table):
    """Where the ledger is: by default a file of the home; the URL of a PostgreSQL database that several machines share.

    Shown to nobody, since it may hold a password.
    """

    url: Database | None = None


class DagsterSettings(_Table):
    """Where Dagster keeps its history: by default files beside the city's tables; a PostgreSQL database of the city."""

    storage: Database | None = None


class WebSettings(_Table):
    """By which names the web UI may be called, besides those of this machine: for example that of a proxy before it."""

    names: tuple[Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$")], ...] = ()


class Settings(_Table):
    """All settings of one city; `folder` is where relative paths start."""

    city: CitySettings = CitySettings()
    people: PeopleSettings = PeopleSettings()
    publication: PublicationSettings = PublicationSettings()
    privacy: PrivacySettings = PrivacySettings()
    scheme: SchemeSettings = SchemeSettings()
    engine: EngineSettings = EngineSettings()
    storage: StorageSettings = StorageSettings()
    alerts: AlertSettings = AlertSettings()
    operator: OperatorSettings = OperatorSettings()
    signing: SigningSettings = SigningSettings()
    anchor: AnchorSettings = AnchorSettings()
    ledger: LedgerSettings = LedgerSettings()
    dagster: DagsterSettings = DagsterSettings()
    web: WebSettings = WebSettings()
    revisions: dict[Week, Cap] = {}
    folder: Path = Field(default=Path("."), exclude=True)

    @model_validator(mode="after")
    def _records_are_in_reach(self) -> Self:
        if self.city.visits and is_url(self.city.visits) and self.engine.name != "spark":
            raise ValueError(
                'city.visits is a URL, which Spark reads and DuckDB does not: set engine.name = "spark" '
                "(`pip install density-assets[spark,s3]`), or copy or mount the files here and give their path"
            )
        return self

    @field_validator("revisions")
    @classmethod
    def _of_weeks(cls, revisions: dict[date, int]) -> dict[date, int]:
        for week in revisions:
            if week.weekday() != 0:
                raise ValueError(f"a week is named by its Monday, got {week:%A %Y-%m-%d}")
        return revisions

    def revision_of(self, week: str) -> int:
        """Which release of a week is meant: the first, unless a person has declared another."""
        return self.revisions.get(date.fromisoformat(week), 1)

    def with_epsilon(self, epsilon: float) -> "Settings":
        """The same settings with another promise."""
        return self.with_privacy(epsilon=epsilon)

    def with_privacy(self, **changed: float) -> "Settings":
        """The same settings with another promise or budget, validated like any other."""
        try:
            privacy = PrivacySettings(**{**self.privacy.model_dump(exclude_unset=True), **changed})
        except ValidationError as error:
            raise BadInput("; ".join(map(explained, error.errors()))) from None
        return self.model_copy(update={"privacy": privacy})

    def without_databases(self) -> "Settings":
        """The same settings for those who have no business with a database, and with a password least of all."""
        return self.model_copy(update={"ledger": LedgerSettings(), "dagster": DagsterSettings()})

    def path(self, relative: Path | str) -> Path:
        """A path of the settings file, seen from where that file lies."""
        return self.folder / relative


def load_settings(file: Path | None) -> Settings:
    """Read and validate a settings file; no file means the embedded city."""
    if file is None:
        return Settings()
    tables = read_toml(file, "the settings file")
    if problems := list(_problems(tables)):
        raise BadInput(f"settings {file}: " + "; ".join(problems))
    try:
        return Settings.model_validate({**tables, "folder": file.resolve().parent})
    except ValidationError as error:
        raise BadInput(f"settings {file}: " + "; ".join(map(explained, error.errors()))) from None


def _problems(tables: dict[str, Any]) -> Iterator[str]:
    """Names that are not known, and values that are none: pydantic would not say what was meant."""
    known = {name: field.annotation for name, field in Settings.model_fields.items() if name != "folder"}
    for table, content in tables.items():
        model = known.get(table)
        if model is None:
            yield f"unknown table [{shown(table, str)}]{nearest(table, known)}"
        elif not isinstance(content, dict):
            yield f"[{table}] must be a table, got {'a list' if isinstance(content, list) else shown(content)}"
        else:
            fields = getattr(model, "model_fields", content)  # a table without fields is keyed by week
            unknown = sorted(content.keys() - fields.keys())
            yield from (f"unknown key {table}.{shown(key, str)}{nearest(key, fields)}" for key in unknown)
            yield from nested(content, f"{table}.", lists=LISTS.get(table, ()), tables=TABLES.get(table, ()))
