"""From visits to people, by public factors: what follows from a release and what a person states, at no cost.

A device is counted in a cell and hour if it is there, is one of this operator's, and leaves a record in it. So

    people = visits / (market share · devices per person · active share)

with the first two by cell and the last by hour. People per visit are thus a number of the cell times a number of the
hour, and the error of any sum of people is that of a sum of visits with weights. Factors are numbers of the settings,
or public tables by cell, by region or by hour.

Intervals hold the noise of the release and the bounds of the factors. With factors anywhere between their bounds the
people of a sum lie between its visits at the fewest and at the most people per visit; each of these is known up to
noise. So the interval reaches from 1.96 standard errors below the one to 1.96 above the other: whatever the factors
are between their bounds, and however they go together, it holds with 95 % at least.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from density_assets.calendar import HOURS
from density_assets.errors import BadInput, missing_column, some
from density_assets.estimation.clustering import round_by_largest_remainder
from density_assets.geography.lists import read_list, refuse_other_keys, with_points
from density_assets.geography.regions import CELL, REGION, Regions
from density_assets.publication.sum_errors import WITHIN, WeekCounts
from density_assets.series import Floats, Ints
from density_assets.settings import Settings
from density_assets.settings.people import FACTORS, refuse_disordered, refuse_outside

HOUR = "hour"
OF_HOURS = ("active_share",)  # the others are of cells
HOURS_OF_DAY = 24
ENDS = ("low", "value", "high")  # of what a factor may be


@dataclass(frozen=True)
class Factor:
    """A factor of every cell, or of every hour of the week: as stated, and between which bounds it is known."""

    value: Floats
    low: Floats
    high: Floats

    def __post_init__(self) -> None:
        """Refuse what would turn into a wrong number of people."""
        if not ((self.low > 0) & (self.low <= self.value) & (self.value <= self.high)).all():
            raise ValueError("a factor must be above 0 and lie between its bounds")
        if not np.isfinite(self.high).all():
            raise ValueError("a factor must be finite")


@dataclass(frozen=True)
class PerVisit:
    """People per visit: that of a cell times that of an hour."""

    cells: Floats
    hours: Floats

    @property
    def matrix(self) -> Floats:
        """Of each cell and hour."""
        return np.outer(self.cells, self.hours)


@dataclass(frozen=True)
class PeopleFactors:
    """What turns visits into people: market share and devices per person by cell, active share by hour."""

    market_share: Factor
    devices_per_person: Factor
    active_share: Factor

    @property
    def stated(self) -> PerVisit:
        """By the factors as stated."""
        return self._per_visit("value", "value")

    @property
    def fewest(self) -> PerVisit:
        """The fewest people per visit that the bounds allow: factors as high as they may be."""
        return self._per_visit("high", "high")

    @property
    def most(self) -> PerVisit:
        """The most people per visit that the bounds allow."""
        return self._per_visit("low", "low")

    def _per_visit(self, of_cells: str, of_hours: str) -> PerVisit:
        share, devices = (getattr(factor, of_cells) for factor in (self.market_share, self.devices_per_person))
        return PerVisit(1 / (share * devices), 1 / getattr(self.active_share, of_hours))


@dataclass(frozen=True)
class People:
    """Whole people, and between which numbers they lie; NaN where the error of a sum is not known."""

    number: Ints
    low: Floats
    high: Floats

    @property
    def columns(self) -> dict[str, pl.Series]:
        """As files have them, row by row; ends that are not known are empty."""
        ends = {"people": self.number, "people_low": self.low, "people_high": self.high}
        return {
            name: pl.Series(name, values.reshape(-1), nan_to_null=True).cast(pl.Int64) for name, values in ends.items()
        }


def people_in_cells(factors: PeopleFactors, week: WeekCounts) -> People:
    """People of each cell and hour.

    They are whole, and rounded as counts are: hour by hour, so that all cells together keep their sum. So people of a
    region are sums of these, as its counts are sums of counts.
    """
    number = round_by_largest_remainder(week.visits * factors.stated.matrix)
    low, high = (
        week.visits * rate.matrix + sign * WITHIN * week.error * rate.matrix
        for rate, sign in ((factors.fewest, -1), (factors.most, +1))
    )
    return _within(number, low, high)


def people_of_sums(factors: PeopleFactors, week: WeekCounts, cells: Ints, areas: Floats, periods: Floats) -> People:
    """People of sums of areas (k x cells) over periods (168 x p).

    cells: the people of each cell and hour, which are added up.
    """
    number = np.rint(areas @ cells @ periods).astype(np.int64)
    low, high = (_edge(rate, sign, week, areas, periods) for rate, sign in ((factors.fewest, -1), (factors.most, +1)))
    return _within(number, low, high)


def people_of_each_cell(factors: PeopleFactors, week: WeekCounts, cells: Ints, hours: Floats) -> People:
    """People of every cell by itself, over the hours that 168 weights give."""
    low, high = (
        rate.cells * (week.visits @ (hours * rate.hours) + sign * WITHIN * week.error_of_each_cell(hours * rate.hours))
        for rate, sign in ((factors.fewest, -1), (factors.most, +1))
    )
    return _within(np.rint(cells @ hours).astype(np.int64), low, high)


def _edge(rate: PerVisit, sign: int, week: WeekCounts, areas: Floats, periods: Floats) -> Floats:
    """Visits of the sums at so many people per visit, and 1.96 standard errors on one side."""
    weighted, over = areas * rate.cells, periods * rate.hours[:, None]
    return np.asarray(weighted @ week.visits @ over + sign * WITHIN * week.error_of(weighted, over))


def _within(number: Ints, low: Floats, high: Floats) -> People:
    """Whole bounds that hold the number: rounding to whole people may have moved it past one that is not wide."""
    return People(
        number,
        np.maximum(np.minimum(np.floor(low), number), 0.0),
        np.maximum(np.ceil(high), number),
    )


def city_factors(settings: Settings, cell_ids: list[str], regions: Regions | None) -> PeopleFactors | None:
    """The factors that settings state; none if they state none."""
    if not settings.people.stated:
        return None
    return PeopleFactors(**{name: _factor(settings, name, cell_ids, regions) for name in FACTORS})


def factors_table(factors: PeopleFactors, cell_ids: list[str]) -> pl.DataFrame:
    """One row per factor and cell or hour."""
    return pl.concat([_rows(name, getattr(factors, name), cell_ids) for name in FACTORS])


def _rows(name: str, factor: Factor, cell_ids: list[str]) -> pl.DataFrame:
    size = len(factor.value)
    of_hours = name in OF_HOURS
    keys = {CELL: [None] * size if of_hours else cell_ids, HOUR: list(range(HOURS)) if of_hours else [None] * size}
    ends = {end: getattr(factor, end) for end in ENDS}
    return pl.DataFrame({"factor": [name] * size, **keys, **ends}, schema_overrides={CELL: pl.String, HOUR: pl.Int64})


def _factor(settings: Settings, name: str, cell_ids: list[str], regions: Regions | None) -> Factor:
    """A factor of every cell, or of every hour of the week."""
    file = settings.people.tables.get(name)
    if file is None:
        size = HOURS if name in OF_HOURS else len(cell_ids)
        return Factor(**{end: np.full(size, v) for end, v in zip(ENDS, settings.people.bounds(name), strict=True)})
    path = settings.path(file)
    keys = (HOUR,) if name in OF_HOURS else (CELL, REGION)
    columns = (*keys, name, f"{name}_low", f"{name}_high")
    optional = set(columns) - {HOUR, name}
    table = read_list(path, {column: column for column in columns}, name, optional=optional, as_text=True)
    return _of_hours(table, path, name) if name in OF_HOURS else _of_cells(table, path, name, cell_ids, regions)


def _of_hours(table: pl.DataFrame, path: Path, name: str) -> Factor:
    """Of 24 hours of the day, or of 168 of the week."""
    hours = HOURS if len(table) > HOURS_OF_DAY else HOURS_OF_DAY
    numbered = table.with_columns(_plain_numbers(table[HOUR]))
    refuse_other_keys(numbered[HOUR], [str(hour) for hour in range(hours)], path, f"hour from 0 to {hours - 1}")
    ordered = numbered.sort(pl.col(HOUR).cast(pl.Int64))
    return _values(ordered, HOUR, path, name, lambda values: np.tile(values, HOURS // hours))


def _of_cells(table: pl.DataFrame, path: Path, name: str, cell_ids: list[str], regions: Regions | None) -> Factor:
    """Of cells, or of the regions that cells belong to."""
    if CELL in table.columns:
        refuse_other_keys(table[CELL], cell_ids, path, "cell of the city")
        return _values(_in_order(table, CELL, cell_ids), CELL, path, name, np.asarray)
    if REGION not in table.columns:
        raise missing_column(path, CELL, CELL, table.columns)
    if regions is None:
        raise BadInput(
            f"{path.name}: {name} is given by region, but the city has none: give city.regions or city.region_id, or a "
            f"table with a column {CELL!r}"
        )
    of_cell = regions.of_cell
    refuse_other_keys(table[REGION], regions.ids, path, "region of the city")
    return _values(_in_order(table, REGION, list(regions.ids)), REGION, path, name, lambda values: values[of_cell])


def _in_order(table: pl.DataFrame, key: str, order: list[str]) -> pl.DataFrame:
    return pl.DataFrame({key: order}).join(table, on=key, maintain_order="left")


def _values(table: pl.DataFrame, key: str, path: Path, name: str, expand: Callable[[Floats], Floats]) -> Factor:
    """The factor of each row, with its bounds where there are columns of them."""
    bounds = {end: f"{name}_{end}" for end in ("low", "high") if f"{name}_{end}" in table.columns}
    if len(bounds) == 1:
        raise BadInput(
            f"{path.name}: bounds must be two, {name}_low and {name}_high, or none, got {next(iter(bounds.values()))}"
        )
    columns = {"value": name, "low": name, "high": name, **bounds}
    numbers = {end: _numbers(table[columns[end]], path, name) for end in ENDS}
    _refuse_disordered(numbers, table[key], path, name)
    return Factor(**{end: expand(values) for end, values in numbers.items()})


def _refuse_disordered(numbers: Mapping[str, Floats], keys: pl.Series, path: Path, name: str) -> None:
    for key, low, value, high in zip(keys, *(numbers[end].tolist() for end in ENDS), strict=True):
        try:
            refuse_disordered(name, low, value, high)
        except ValueError as problem:
            raise BadInput(f"{path.name}: {problem} ({keys.name} {key})") from None


def _numbers(texts: pl.Series, path: Path, name: str) -> Floats:
    """A column as numbers that the factor can have."""
    numbers = with_points(texts).cast(pl.Float64, strict=False).to_numpy()
    wrong = [text for text, number in zip(texts, numbers.tolist(), strict=True) if not _possible(name, number)]
    if wrong:
        raise BadInput(
            f"{path.name}: {texts.name!r} must hold numbers that {name} can be, with a decimal point, or all with "
            f"a comma, found {len(wrong)} others: {some(map(repr, wrong))}"
        )
    return numbers


def _possible(name: str, number: float) -> bool:
    try:
        refuse_outside(name, number)
    except ValueError:
        return False
    return True


def _plain_numbers(texts: pl.Series) -> pl.Series:
    """Whole numbers without leading zeros: hour 07 is hour 7; what is none stays as it is."""
    return texts.cast(pl.Int64, strict=False).cast(pl.String).fill_null(texts).alias(texts.name)
