"""From visits to people, by public factors: what follows from a release and a statement of a person, at no cost.

A device is counted in a cell and hour if it is there, is one of this operator's, and leaves a record in it. So

    people = visits / (market share · devices per person · active share)

with the first two by cell and the last by hour. People per visit are thus a number of the cell times a number of the
hour, and the error of any sum of people is that of a sum of visits with weights.

Intervals hold the noise of the release and the bounds of the factors. With factors anywhere between their bounds the
people of a sum lie between its visits at the fewest and at the most people per visit; each of these is known up to
noise. So the interval reaches from 1.96 standard errors below the one to 1.96 above the other: whatever the factors
are between their bounds, and however they go together, it holds with 95 % at least.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from density_assets.estimation.rounding import round_by_largest_remainder
from density_assets.publication.sums import WITHIN, WeekCounts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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
