"""Everything a person chooses, read from one TOML file and validated before anything runs.

Tables: `[city]` (what is counted), `[people]` (what turns visits into people), `[publication]` (what catalogues are
told), `[privacy]` (what is promised), `[scheme]` (how it is kept), `[engine]` (what runs the SQL, and what it may use),
`[storage]` (where confidential weeks lie), `[alerts]` (who is told of a failed run), `[operator]` (who schedules act
for), `[signing]` (the key), `[anchor]` (where the ledger's head is kept as well), `[ledger]` and `[dagster]` (databases
that several machines share), `[web]` (by which names the UI is called) and `[revisions]` (which weeks are released
anew). Without a file the embedded city is used, at the size of the case study.
"""

import os
from datetime import date
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, Strict, ValidationError, field_validator, model_validator

from density_assets.errors import BadInput
from density_assets.settings import values
from density_assets.settings.city import CitySettings
from density_assets.settings.people import PeopleSettings, PublicationSettings
from density_assets.settings.values import (
    AboveZero,
    Cap,
    Database,
    Name,
    PlainPath,
    Share,
    Table,
    Week,
    explain,
    read_toml,
)


class PrivacySettings(Table):
    """What a release promises to one subscriber's week, and what all releases together may cost."""

    epsilon: values.Epsilon = 0.3
    delta: values.Delta = 1e-7
    visits_per_user: Cap = 30
    visits_clamp: Cap = 732
    budget_epsilon: values.Epsilon = 3.0
    budget_delta: values.Delta = 1e-7


class SchemeSettings(Table):
    """How the noise is shaped."""

    name: Literal[
        "lpa", "gpa", "fpa", "efpa", "efpag", "efpag_iris", "lowrank",
        "direct", "threshold", "static_hybrid", "dynamic_hybrid",
    ] = "lowrank"  # fmt: skip
    calibration: Literal["sound", "published"] = "sound"
    improved: values.Flag = True
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


class EngineSettings(Table):
    """What runs the SQL: DuckDB, and what it may use of this machine; or Spark, and where that is.

    master: of Spark, such as `local[4]`, `spark://host:7077`, `yarn`; or `sc://host` for Spark Connect. Everything else
        Spark reads from its own `spark-defaults.conf`.
    """

    name: Literal["duckdb", "spark"] = "duckdb"
    master: Name | None = None
    memory: values.Memory = "800MB"
    threads: values.Threads = min(os.cpu_count() or 1, 8)
    rows_per_bucket: Annotated[values.Count, Field(ge=1_000)] = 3_000_000

    @property
    def memory_bytes(self) -> int:
        """The memory as a number."""
        return values.memory_bytes(self.memory)


class StorageSettings(Table):
    """Where the weeks of confidential tables lie: in the home, or at a path or URL that other machines reach too."""

    weeks: values.Place | None = None


class AlertSettings(Table):
    """Where a failed run is reported: a file that gets a line, an address that gets a request, both or neither."""

    file: PlainPath | None = None
    webhook: values.Address | None = None

    @property
    def wanted(self) -> bool:
        """Whether anybody is to be told."""
        return self.file is not None or self.webhook is not None


class OperatorSettings(Table):
    """Who schedules and sensors act for, and why they may: it is recorded with every charge and published."""

    name: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    reason: Annotated[str, Field(min_length=1, max_length=200)] | None = None


class SigningSettings(Table):
    """Where the key is that releases are signed with: a file, or `agent:` and the name of a key an SSH agent holds."""

    key: Annotated[str, Field(min_length=1)] | None = None


class AnchorSettings(Table):
    """Where heads of the ledger are kept outside the home, so that no later ledger can deny them; by default nowhere.

    file: gets a line for each head, and is read back before anything is drawn.
    command: a program with its arguments, run in the folder of the settings; gets each published head on its input.
    """

    file: PlainPath | None = None
    command: Annotated[str, Field(min_length=1, max_length=4_000), AfterValidator(values.words_of_command)] | None = (
        None
    )


class LedgerSettings(Table):
    """Where the ledger is: by default a file of the home; the URL of a PostgreSQL database that several machines share.

    Shown to nobody, since it may hold a password.
    """

    url: Database | None = None


class DagsterSettings(Table):
    """Where Dagster keeps its history: by default files beside the city's tables; a PostgreSQL database of the city."""

    storage: Database | None = None


class WebSettings(Table):
    """Host names the web UI accepts in addition to localhost: for example that of a proxy before it."""

    names: tuple[Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$")], ...] = ()


class Settings(Table):
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
    folder: Annotated[Path, Strict()] = Field(default=Path("."), exclude=True)  # strict, so no text of the file sets it

    @model_validator(mode="after")
    def _records_are_in_reach(self) -> Self:
        if self.city.visits and values.is_url(self.city.visits) and self.engine.name != "spark":
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
            raise BadInput(explain(error, PrivacySettings)) from None
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
    try:
        return Settings.model_validate({"folder": file.resolve().parent, **tables})
    except ValidationError as error:
        raise BadInput(f"settings {file}: {explain(error, Settings)}") from None
