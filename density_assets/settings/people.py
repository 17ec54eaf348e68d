"""The tables `[people]` and `[publication]`: what turns visits into people, and what catalogues say of a release.

Each factor is public and stated by a person, never computed from records. It is a number, with bounds if it is known
between bounds only, or the path of a public table. Stating one requires stating all: a share that nobody wrote down
would silently be taken for 1, and people for devices.
"""

from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, PlainValidator, Strict, model_validator

from density_assets.settings.values import Table, plain_path, shown

LEAST = 1e-4  # of any factor: beyond anything a city has, and far from overflow
MOST = {"market_share": 1.0, "devices_per_person": 100.0, "active_share": 1.0}
FACTORS = tuple(MOST)


def refuse_outside(name: str, value: float) -> float:
    """Raise ValueError if a factor cannot have a value."""
    if not LEAST <= value <= MOST[name]:
        raise ValueError(f"{name} must lie between {LEAST:g} and {MOST[name]:g}, got {value:g}")
    return value


def refuse_disordered(name: str, low: float, value: float, high: float) -> None:
    """Raise ValueError if a value does not lie between its bounds."""
    if not low <= value <= high:
        raise ValueError(f"{name} must lie between its bounds, got {value:g} and bounds {low:g} and {high:g}")


def _number_or_table(value: Any) -> float | Path:
    if isinstance(value, str | Path):
        return Path(plain_path(value))
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"must be a number, got {shown(value)}")
    return float(value)


Number = Annotated[float, Strict()]
NumberOrTable = Annotated[float | Path, PlainValidator(_number_or_table)]
Words = Annotated[str, Field(min_length=1, max_length=2000)]
Link = Annotated[str, Field(pattern=r"^https?://[^\s]+$", max_length=500)]


class PeopleSettings(Table):
    """How visits become people; without any of it counts are visits of devices.

    market_share: of the devices in a place, those whose records are here.
    devices_per_person: how many devices a person there carries, on average.
    active_share: of the devices that are somewhere in an hour, those that leave a record in it.
    """

    market_share: NumberOrTable | None = None
    market_share_low: Number | None = None
    market_share_high: Number | None = None
    devices_per_person: NumberOrTable | None = None
    devices_per_person_low: Number | None = None
    devices_per_person_high: Number | None = None
    active_share: NumberOrTable | None = None
    active_share_low: Number | None = None
    active_share_high: Number | None = None

    @property
    def stated(self) -> bool:
        """Whether visits become people."""
        return self.market_share is not None

    @property
    def tables(self) -> dict[str, Path]:
        """The tables that are named, by factor."""
        given = {name: getattr(self, name) for name in FACTORS}
        return {name: value for name, value in given.items() if isinstance(value, Path)}

    def bounds(self, name: str) -> tuple[float, float, float]:
        """Lowest, stated and highest value of a factor that is a number."""
        value: float = getattr(self, name)
        low, high = (getattr(self, f"{name}_{end}") for end in ("low", "high"))
        return (value if low is None else low, value, value if high is None else high)

    @model_validator(mode="after")
    def _all_or_none(self) -> Self:
        missing = [name for name in FACTORS if getattr(self, name) is None]
        if self.model_fields_set and missing:
            raise ValueError(
                f"visits become people by {', '.join(FACTORS)}, each a number or the path of a table: "
                f"{', '.join(missing)} must be stated as well (1 is a statement, too)"
            )
        return self

    @model_validator(mode="after")
    def _in_range(self) -> Self:
        for name in FACTORS if self.stated else ():
            if name not in self.tables:
                for value in self.bounds(name):
                    refuse_outside(name, value)
                refuse_disordered(name, *self.bounds(name))
            elif given := [end for end in (f"{name}_low", f"{name}_high") if getattr(self, end) is not None]:
                raise ValueError(f"{name} is a table, which has bounds as columns: leave out {', '.join(given)}")
        return self


class PublicationSettings(Table):
    """Who publishes, under which licence, and whom to ask; all of it is optional, and none of it decides what is drawn.

    contact: an address for questions. licence: its name, as SPDX writes it. licence_url, homepage: where both are.
    """

    title: Words | None = None
    description: Words | None = None
    publisher: Words | None = None
    contact: Words | None = None
    licence: Words | None = None
    licence_url: Link | None = None
    homepage: Link | None = None
