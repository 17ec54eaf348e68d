"""The table `[city]`: where cells, towers and visits come from, and how they are read."""

import re
from datetime import date, timedelta
from functools import cache
from typing import Annotated, Literal, Self
from zoneinfo import ZoneInfo, available_timezones

from pydantic import Field, field_validator, model_validator

from density_assets.errors import nearest
from density_assets.settings import values
from density_assets.settings.values import Count, Name, PlainPath, Table, Week, shown

EMBEDDED_USERS = 1_992_846  # Acs & Castelluccia 2014, §4.1
OWN_KEYS = {  # of a city whose cells are its own
    *("cell_id", "cells_crs", "boundary", "towers", "tower_id", "tower_x", "tower_y", "tower_crs"),
    *("tower_valid_from", "tower_valid_to", "visits"),
    *("footprints", "footprint_tower", "footprint_cell", "footprint_share"),
}
CITY_NAME = re.compile("[a-z0-9][a-z0-9_-]{0,62}")  # that of its folder
KEPT_IN_HOMES = ("keys",)  # folders beside those of cities


@cache
def known_zones() -> frozenset[str]:
    """Names of time zones; looked up once, because that reads a folder."""
    return frozenset(available_timezones())


class CitySettings(Table):
    """Where cells, towers and visits come from."""

    name: Annotated[str, Field(pattern=f"^{CITY_NAME.pattern}$")] = "embedded"
    population: Count | None = None
    first_week: Week = date(2007, 9, 10)
    last_week: Week | None = None
    timezone: str = "Europe/Paris"
    cells: PlainPath | None = None
    cell_id: Name | None = None
    cells_crs: Name | None = None
    grid: Literal["inspire 1km", "h3 7", "h3 8", "h3 9"] | None = None
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
    visits: values.Place | None = None
    visits_complete: values.PlainPattern = "_SUCCESS"
    visit_user: Name = "user_id"
    user_form: Literal["as is", "trimmed", "digits only"] = "as is"
    visit_date: Name | None = None
    visit_time: Name = "time"
    visit_time_format: values.TimeFormat | None = None
    visit_timezone: str | None = None
    visit_tower: Name = "tower_id"
    visit_where: dict[Name, values.Comparable] = {}
    users: Count | None = None
    seed: values.Seed = 2007
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
