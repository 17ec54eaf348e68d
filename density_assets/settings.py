"""Everything a person chooses, read from one TOML file and validated before anything runs.

Six tables: `[city]` (what is counted), `[privacy]` (what is promised), `[scheme]` (how it is kept), `[engine]`
(what the machine may use), `[alerts]` (who is told of a failed run) and `[revisions]` (which weeks are released
anew). Without a file the embedded city is used, at the size of the case study.
"""

import os
import tomllib
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo, available_timezones

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from density_assets.errors import BadInput, nearest

EMBEDDED_USERS = 1_992_846  # Acs & Castelluccia 2014, §4.1
MAX_DELTA = 1e-5


def _plain(path: Path | str) -> Path | str:
    if ".." in Path(path).parts:
        raise ValueError(f"paths must not climb with '..', got {str(path)!r}: write it absolute")
    return path


PlainPath = Annotated[Path, AfterValidator(_plain)]
PlainPattern = Annotated[str, AfterValidator(_plain)]
Positive = Annotated[int, Field(ge=1)]
AboveZero = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(gt=0, lt=1)]
Delta = Annotated[float, Field(gt=0, le=MAX_DELTA)]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CitySettings(_Table):
    """Where cells, towers and visits come from."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")] = "embedded"
    population: Positive | None = None
    first_week: date = date(2007, 9, 10)
    timezone: str = "Europe/Paris"
    cells: PlainPath | None = None
    cell_id: str | None = None
    towers: PlainPath | None = None
    tower_id: str | None = None
    tower_x: str = "lon"
    tower_y: str = "lat"
    tower_crs: str = "EPSG:4326"
    visits: PlainPattern | None = None
    visit_user: str = "user_id"
    visit_time: str = "time"
    visit_tower: str = "tower_id"
    users: Positive | None = None
    seed: Annotated[int, Field(ge=0)] = 2007

    @property
    def synthetic(self) -> bool:
        """Whether the visits are simulated: nobody's data, so its numbers may be shown."""
        return self.visits is None

    @property
    def embedded(self) -> bool:
        """Whether the geography is the invented one."""
        return self.cells is None

    @property
    def simulated_users(self) -> int:
        """How many people to simulate."""
        return self.users or EMBEDDED_USERS

    @field_validator("first_week")
    @classmethod
    def _monday(cls, first_week: date) -> date:
        if first_week.weekday() != 0:
            raise ValueError(f"a week starts on a Monday, got {first_week:%A %Y-%m-%d}")
        return first_week

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, timezone: str) -> str:
        if timezone not in available_timezones():
            raise ValueError(f"must be an IANA time zone, got {timezone!r}{nearest(timezone, available_timezones())}")
        return timezone

    @property
    def zone(self) -> ZoneInfo:
        """The city's time zone."""
        return ZoneInfo(self.timezone)

    @model_validator(mode="after")
    def _own_data_is_whole(self) -> Self:
        if self.embedded:
            own_keys = {"cell_id", "towers", "tower_id", "tower_x", "tower_y", "tower_crs", "visits"}
            if given := sorted(own_keys & self.model_fields_set):
                raise ValueError(f"{', '.join(given)} describe own data, which needs cells as well")
            return self
        for key in ("cell_id", "towers"):
            if getattr(self, key) is None:
                raise ValueError(f"own cells need {key} as well")
        if "name" not in self.model_fields_set or self.name == "embedded":
            raise ValueError("own data needs a name of its own (lower-case letters, digits, - and _)")
        if (self.visits is None) == (self.users is None):
            raise ValueError("give either visits (records of real people) or users (how many to simulate)")
        if self.visits is not None and self.tower_id is None:
            raise ValueError("visits name towers by identifier, so the tower list needs tower_id")
        return self


class PrivacySettings(_Table):
    """What a release promises to one subscriber's week, and what all releases together may cost."""

    epsilon: AboveZero = 0.3
    delta: Delta = 2e-6
    visits_per_user: Positive = 30
    visits_clamp: Positive = 732
    budget_epsilon: AboveZero = 3.0
    budget_delta: Delta = MAX_DELTA


class SchemeSettings(_Table):
    """How the noise is shaped."""

    name: Literal[
        "lpa", "gpa", "fpa", "efpa", "efpag", "efpag_iris", "lowrank",
        "direct", "threshold", "static_hybrid", "dynamic_hybrid",
    ] = "lowrank"  # fmt: skip
    calibration: Literal["sound", "published"] = "sound"
    improved: bool = True
    split: Share | None = None
    weight_l: Positive = 20
    change: AboveZero = 0.25
    releases: Annotated[int, Field(ge=2)] = 28
    comparing_share: Share = 0.05
    selecting_share: Share = 0.05
    moving_share: Share = 0.75
    window_weight: AboveZero = 0.3


class EngineSettings(_Table):
    """What the database may use of this machine."""

    memory: Annotated[str, Field(pattern=r"^[0-9.]+ ?(MB|GB|MiB|GiB)$")] = "800MB"
    threads: Positive = min(os.cpu_count() or 1, 8)
    rows_per_bucket: Annotated[int, Field(ge=1_000)] = 3_000_000

    @property
    def memory_bytes(self) -> int:
        """The memory as a number."""
        number, unit = self.memory[:-3], self.memory[-3:]
        if unit[1:] != "iB":
            number, unit = self.memory[:-2], self.memory[-2:]
        return int(float(number) * {"MB": 10**6, "GB": 10**9, "MiB": 2**20, "GiB": 2**30}[unit])


class AlertSettings(_Table):
    """Where a failed run is reported: a file that gets a line, an address that gets a request, both or neither."""

    file: PlainPath | None = None
    webhook: Annotated[str, Field(pattern=r"^https?://[^\s/]+")] | None = None

    @property
    def wanted(self) -> bool:
        """Whether anybody is to be told."""
        return self.file is not None or self.webhook is not None


class Settings(_Table):
    """All settings of one city; `folder` is where relative paths start."""

    city: CitySettings = CitySettings()
    privacy: PrivacySettings = PrivacySettings()
    scheme: SchemeSettings = SchemeSettings()
    engine: EngineSettings = EngineSettings()
    alerts: AlertSettings = AlertSettings()
    revisions: dict[date, Positive] = {}
    folder: Path = Field(default=Path("."), exclude=True)

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
        """The same settings with another promise, validated like any other."""
        try:
            privacy = PrivacySettings(**{**self.privacy.model_dump(), "epsilon": epsilon})
        except ValidationError as error:
            raise BadInput("; ".join(map(_readable, error.errors()))) from None
        return self.model_copy(update={"privacy": privacy})

    def path(self, relative: Path | str) -> Path:
        """A path of the settings file, seen from where that file lies."""
        return self.folder / relative


def load_settings(file: Path | None) -> Settings:
    """Read and validate a settings file; no file means the embedded city."""
    if file is None:
        return Settings()
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"the settings file must be readable: {file}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"the settings file must be TOML: {file}: {error}") from error
    if problems := list(_unknown_keys(tables)):
        raise BadInput(f"settings {file}: " + "; ".join(problems))
    try:
        return Settings.model_validate({**tables, "folder": file.resolve().parent})
    except ValidationError as error:
        raise BadInput(f"settings {file}: " + "; ".join(map(_readable, error.errors()))) from None


def _unknown_keys(tables: dict[str, Any]) -> Iterator[str]:
    known = {name: field.annotation for name, field in Settings.model_fields.items() if name != "folder"}
    for table, content in tables.items():
        model = known.get(table)
        if model is None:
            yield f"unknown table [{table}]{nearest(table, known)}"
        elif not isinstance(content, dict):
            yield f"[{table}] must be a table, got {content!r}"
        else:
            fields = getattr(model, "model_fields", content)  # a table without fields is keyed by week
            yield from (f"unknown key {table}.{key}{nearest(key, fields)}" for key in content.keys() - fields.keys())


def _readable(error: Any) -> str:
    where = ".".join(str(part) for part in error["loc"])
    what = error["msg"].removeprefix("Value error, ")
    got = "" if error["type"] == "value_error" else f", got {error['input']!r}"
    return f"{where}: {what}{got}"
