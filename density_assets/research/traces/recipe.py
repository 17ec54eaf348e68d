"""How files of traces are to be read and attacked: `traces.toml` beside them, or the defaults of the publication.

Two data sets were attacked (Pyrgelis et al., §2.1 and §4.1): cabs of San Francisco (GPS points) and cards of the
London underground (tap events). Their constants are the defaults of these kinds; a third kind are the tables `visits`
of this software. GPS points of another publication, taxis of Beijing, are the default of the studies of moving
characteristics (Chen et al., §7.1). Whatever the default, a recipe beside the data changes it for every study.

A `Tally` says how many records a reader used; every study that takes traces says it above its results.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, Strict, ValidationError, model_validator

from density_assets.calendar import HOURS
from density_assets.errors import BadInput, nearest
from density_assets.settings.city import known_zones
from density_assets.settings.values import AboveZero, Name, Week, explain, read_toml, shown

Share = Annotated[float, Strict(), Field(gt=0, le=1)]
Count = Annotated[int, Strict(), Field(ge=1, le=10**7)]
Side = Annotated[int, Strict(), Field(ge=1, le=1_000)]  # of the grid, whose cells are kept hour by hour
Weeks = Annotated[int, Strict(), Field(ge=1, le=520)]
Latitude = Annotated[float, Strict(), Field(ge=-90, le=90)]
Longitude = Annotated[float, Strict(), Field(ge=-180, le=180)]
Offset = Annotated[float, Strict(), Field(ge=-24, le=24)]
Minutes = Literal[5, 10, 15, 20, 30, 60]  # divide an hour, so that clocks that change do not cut a stamp
Prior = Literal["subset_of_locations", "same_groups", "different_groups"]
Sampling = Literal["once", "apart", "anew"]
FILE = "traces.toml"


class Recipe(BaseModel):
    """Where, when and whom to attack.

    south, north, west, east, rows, columns: the box of GPS points and the grid it is cut into.
    utc_offset: hours to add to UTC; without it the clocks of `timezone`.
    first_week, weeks: the Monday the traces start with, and how many weeks are used.
    minutes: the length of a stamp in studies of moving characteristics; all others count by the hour.
    user, time, lat, lon, station: columns of CSV and Parquet files.
    stations: a file beside the traces with x and y of each station, in any unit in which distances make sense.
    known_share, known_group: α and m of the prior subset_of_locations. past_groups, past_group: β and m of the others.
    defended_prior, defended_share, defended_group: the setting in which defenses are tried.
    small_epsilon, small_count: epsilon' of PSC and SPSC, k of SPSC. fourier_coefficients: l of FPA and SFPA.
    fourier_norm: Δ2 of FPA, the L2 norm of one user's week; by default that of the user with the most points.
    sampling: how SMP, SPSC and SFPA draw the points they leave out of the aggregates an adversary sees: `once` for all
    of them; `apart`, once by the adversary for hers and once for what is released; `anew` in each.
    samples: aggregates per victim where the prior does not fix their number.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["gps", "taps", "visits"] = "gps"
    first_week: Week = date(2008, 5, 19)
    weeks: Weeks = 3
    minutes: Minutes = 30
    utc_offset: Offset | None = -7.0
    timezone: str | None = None
    south: Latitude = 37.74
    north: Latitude = 37.82
    west: Longitude = -122.47
    east: Longitude = -122.37
    rows: Side = 10
    columns: Side = 10
    user: Name = "cab"
    time: Name = "unixtime"
    lat: Name = "lat"
    lon: Name = "lon"
    station: Name = "station"
    stations: Name | None = None
    known_share: Share = 0.2
    known_group: Count = 100
    past_groups: Count = 800
    past_group: Count = 500
    defended_prior: Prior = "subset_of_locations"
    defended_share: Share = 0.5
    defended_group: Count = 250
    small_epsilon: AboveZero = 0.1
    small_count: Count = 20
    fourier_coefficients: Count = 12
    fourier_norm: AboveZero | None = None
    sampling: Sampling = "apart"
    samples: Annotated[Count, Field(ge=20)] = 2_000

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.first_week.weekday() != 0:
            raise ValueError(f"first_week must be a Monday, got {self.first_week:%A %Y-%m-%d}")
        if not (self.south < self.north and self.west < self.east):
            raise ValueError("the box must have south < north and west < east")
        if (self.utc_offset is None) == (self.timezone is None):
            raise ValueError("give either utc_offset (hours) or timezone (an IANA name)")
        if self.timezone is not None and self.timezone not in known_zones():
            raise ValueError(
                f"timezone must be an IANA name, got {shown(self.timezone)}{nearest(self.timezone, known_zones())}"
            )
        return self

    @property
    def defended_week(self) -> int:
        """The week defenses are measured on: the first where the adversary knows that week, else the last (§4.1)."""
        return 0 if self.defended_prior == "subset_of_locations" else self.weeks - 1


SAN_FRANCISCO: dict[str, Any] = {}
BEIJING: dict[str, Any] = {  # T-Drive, 2 to 8 February 2008; cells of 500 m
    "first_week": date(2008, 1, 28),
    "weeks": 2,
    "utc_offset": None,
    "timezone": "Asia/Shanghai",
    "south": 39.75,
    "north": 40.10,
    "west": 116.15,
    "east": 116.66,
    "rows": 78,
    "columns": 87,
}
LONDON: dict[str, Any] = {
    "first_week": date(2010, 3, 1),
    "weeks": 4,
    "utc_offset": None,
    "timezone": "Europe/London",
    "user": "user",
    "time": "time",
    "known_share": 0.11,
    "known_group": 1_000,
    "past_groups": 500,
    "past_group": 9_500,
    "defended_prior": "same_groups",
    "defended_group": 9_500,
    "small_epsilon": 1.0,
    "small_count": 5,
    "fourier_coefficients": 20,
}
DEFAULTS: dict[str, dict[str, Any]] = {"taps": LONDON, "visits": {"weeks": 1}}


def read_recipe(data: Path, gps: Mapping[str, Any] = SAN_FRANCISCO) -> Recipe:
    """The recipe beside the data; gps: where and when points are that it does not say so of."""
    file = (data if data.is_dir() else data.parent) / FILE
    given = read_toml(file, "the recipe") if file.exists() else {}
    defaults = {"gps": dict(gps), **DEFAULTS}.get(str(given.get("kind", "gps")), {})
    if "timezone" in given or "utc_offset" in given:
        defaults = {**defaults, "timezone": None, "utc_offset": None}
    try:
        return Recipe(**{**defaults, **given})
    except ValidationError as error:
        raise BadInput(f"{file}: {explain(error, Recipe)}") from None


@dataclass(frozen=True)
class Tally:
    """How many records were read, how many of them could not be used by reason, and whose the others are."""

    recipe: Recipe
    records: int
    left_out: Mapping[str, int]
    users: int

    @property
    def used(self) -> int:
        """Records that were used."""
        return self.records - sum(self.left_out.values())

    def __str__(self) -> str:
        """The report, as a paragraph."""
        left_out = ", ".join(f"{count:,} {reason}" for reason, count in self.left_out.items()) or "nothing"
        read = f"{self.records:,} records read, {self.used:,} kept (users: {self.users:,}). Left out: {left_out}."
        return f"{read} {_describe_hours(self.recipe)}{_describe_box(self.recipe)}"


def _describe_hours(recipe: Recipe) -> str:
    """The hours that are kept, and whose clocks count them; those of tables of visits are counted already."""
    weeks = f"{recipe.weeks} week{'s' if recipe.weeks > 1 else ''}"
    if recipe.kind == "visits":
        return f"{recipe.weeks * HOURS} hours: {weeks}."
    zone = recipe.timezone or f"UTC{recipe.utc_offset:+g}"
    return f"{recipe.weeks * HOURS} hours: {weeks} from {recipe.first_week}, on clocks of {zone}."


def _describe_box(recipe: Recipe) -> str:
    """The box and the grid of GPS points; others have stations."""
    if recipe.kind != "gps":
        return ""
    box = f"latitude {recipe.south:g} to {recipe.north:g}, longitude {recipe.west:g} to {recipe.east:g}"
    return f" Box: {box}, a grid of {recipe.rows} x {recipe.columns} (rows x columns)."
