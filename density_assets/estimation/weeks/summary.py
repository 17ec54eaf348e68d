"""The errors of a week's cells in one small table, so that anybody can tell the error of any sum of them.

Errors come in kinds that are independent of each other. One kind is a set of patterns over cells (columns of U) and a
set of patterns over hours (columns of F); any pattern of cells may go with any pattern of hours:

    variance of Σ a_c b_t X_ct  =  Σ_kinds |U'a|² · |F'b|²  +  |C'y|²  +  Σ_ct a_c² b_t² · own_ct

    y    the published visits of the sum in each hour; C patterns of the relative error that all cells share
    own  what is left of the square of each published standard error, if anything is

Errors of an estimate (`errors.py`) nearly have this form, with as many patterns as there are towers. The leading ones
are kept, in groups that share patterns of hours. The rest is each tower's own: a pattern of the few cells it covers.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from density_assets.estimation.weeks.errors import (
    Apart,
    Errors,
    OfFactors,
    OfStretches,
    Scaled,
    Separable,
    Together,
    weights_bias,
)
from density_assets.estimation.weeks.state import bands
from density_assets.geography.places import Matrix
from density_assets.series import Floats

Mask = NDArray[np.bool_]

LEADING = (20, 100)  # patterns of towers that are kept, cut into groups here; chosen on one city, judged on others
TINY = 1e-9  # of a mean variance: what a root needs to exist


@dataclass(frozen=True)
class Kind:
    """Errors that share patterns: cells (sparse, cells x any number), hours (168 x any number)."""

    name: str
    cells: Matrix
    hours: Floats

    def variance(self, areas: Floats, hours: Floats) -> Floats:
        """Of sums of these areas (k x cells) over these hours (168 x p): k x p."""
        along_cells, along_hours = ((areas @ self.cells) ** 2).sum(axis=1), ((self.hours.T @ hours) ** 2).sum(axis=0)
        return np.outer(along_cells, along_hours)

    @property
    def power(self) -> Floats:
        """Variance of each cell and hour by itself."""
        return np.outer((self.cells**2).sum(axis=1), (self.hours**2).sum(axis=1))


@dataclass(frozen=True)
class Summary:
    """All kinds, and the patterns (168 x any number) of the relative error that all cells share."""

    kinds: tuple[Kind, ...]
    city: Floats

    def variance(self, visits: Floats, error: Floats, areas: Floats, hours: Floats) -> Floats:
        """The formula above. visits, error: as published, cells x hours. areas: k x cells. hours: 168 x p."""
        shared = sum(kind.variance(areas, hours) for kind in self.kinds)
        of_city = [(((areas @ visits * period) @ self.city) ** 2).sum(axis=1) for period in hours.T]
        return np.asarray(shared + np.stack(of_city, axis=1) + areas**2 @ self.own(visits, error) @ hours**2)

    def of_each_cell(self, visits: Floats, error: Floats, hours: Floats) -> Floats:
        """The same of every cell by itself, over the hours that 168 weights give."""
        shared = sum((kind.cells**2).sum(axis=1) * ((kind.hours.T @ hours) ** 2).sum() for kind in self.kinds)
        of_city = ((visits * hours) @ self.city) ** 2
        return np.asarray(shared + of_city.sum(axis=1) + self.own(visits, error) @ hours**2)

    @property
    def finite(self) -> bool:
        """Whether all of it is numbers."""
        return bool(np.isfinite(self.city).all() and all(np.isfinite(kind.power).all() for kind in self.kinds))

    def own(self, visits: Floats, error: Floats) -> Floats:
        """What no other cell or hour shares, as a variance of each."""
        shared = sum(kind.power for kind in self.kinds) + visits**2 * (self.city**2).sum(axis=1)
        return np.asarray(np.maximum(error**2 - shared, 0.0))


def summarise(errors: Scaled, to_cells: Matrix, leading: tuple[int, ...] = LEADING) -> Summary:
    """The errors of an estimate as a few kinds."""
    size = float(np.hypot(errors.scale, errors.scale_error))
    areas = csr_array(to_cells * (size * errors.factor))
    every = np.ones(errors.series.shape[1], bool)
    found = (*_kinds(errors.errors, areas, every, leading), _of_sizes(errors, to_cells, size))
    kinds = tuple(kind for kind in found if kind.cells.count_nonzero() and kind.hours.any())
    relative = weights_bias(len(every)) + _factors(errors.errors, every, errors.series.sum(axis=0))
    if errors.scale > 0:  # else nothing is published that an error could be relative to
        relative = (size / errors.scale) ** 2 * relative + (errors.scale_error / errors.scale) ** 2
    return Summary(kinds, _root(relative))


def _kinds(errors: Errors, areas: Matrix, when: Mask, leading: tuple[int, ...]) -> Iterator[Kind]:
    """What an estimate's errors consist of, but for those of city-wide factors. when: hours that are concerned."""
    match errors:
        case Together(parts):
            for part in parts:
                yield from _kinds(part, areas, when, leading)
        case Apart(usual, alone, towers, hours):
            yield from _kinds(alone, areas * towers, when, ())  # odd towers are few
            yield from _kinds(alone, areas * ~towers, when & hours, leading)
            yield from _kinds(usual, areas * ~towers, when & ~hours, leading)
        case Separable():
            if areas.count_nonzero() and when.any():
                yield from _leading(errors, areas, when, leading)
        case OfStretches(found):
            for stretch in found:
                pattern = np.zeros((len(when), 1))
                pattern[stretch.hours, 0] = stretch.error
                yield Kind("stretch", areas[:, [stretch.tower]], pattern * when[:, None])


def _leading(errors: Separable, areas: Matrix, when: Mask, leading: tuple[int, ...]) -> Iterator[Kind]:
    """The patterns of towers that matter most in groups, then every tower with the rest."""
    own, hours = csr_array(areas * errors.rows), errors.hours * np.reshape(errors.columns * when, (-1, 1))
    of_towers = errors.towers**2
    power = (of_towers.T @ np.asarray(own.sum(axis=0), np.float64) ** 2) * (errors.spread @ (hours**2).sum(axis=0))
    order, count = np.argsort(-power, kind="stable"), len(power)
    for group in np.split(order, leading)[:-1]:
        if len(group):
            along, over = _product(errors.spread[group])
            chosen = np.zeros((count, len(group)))
            chosen[group, np.arange(len(group))] = np.sqrt(along)
            yield Kind("places", csr_array(own @ (errors.towers @ chosen)), _root((hours * over) @ hours.T, when))
    rest = errors.spread.copy()
    rest[order[: max(leading, default=0)]] = 0.0
    if rest.any():
        along, over = _product(of_towers @ rest)
        yield Kind("towers", csr_array(own * np.sqrt(along)), _root((hours * over) @ hours.T, when))
    if errors.common is not None:
        yield from _common(own @ (errors.towers @ errors.common), hours, errors.spread.mean(axis=0))


def _common(cells: Floats, hours: Floats, values: Floats) -> Iterator[Kind]:
    """The error of the city's rhythm: a pattern of cells for each band of components of hours."""
    band = bands(values)
    for number in np.unique(band):
        of_band = band == number
        left, size, right = np.linalg.svd(cells[:, of_band], full_matrices=False)
        yield Kind("rhythm", csr_array(left[:, :1] * size[0]), hours[:, of_band] * right[0])


def _of_sizes(errors: Scaled, to_cells: Matrix, size: float) -> Kind:
    """Errors of the factors of towers: one of each neighbourhood, by the rhythm of the city."""
    rhythm = errors.series.mean(axis=0)
    along = errors.factor_error * (errors.series @ rhythm) / max(float(rhythm @ rhythm), TINY)
    numbers = errors.neighbourhood
    neighbourhood = csr_array((np.ones(len(numbers)), (np.arange(len(numbers)), numbers)))
    return Kind("sizes", csr_array(to_cells * (size * along)) @ neighbourhood, rhythm[:, None])


def _factors(errors: Errors, when: Mask, city: Floats) -> Floats:
    """Covariance of city-wide factors, relative to the city's visits in each hour."""
    match errors:
        case Together(parts):
            return np.asarray(sum(_factors(part, when, city) for part in parts))
        case Apart(usual=usual, hours=hours):
            return _factors(usual, when & ~hours, city)
        case OfFactors(mean, covariance):
            usual = np.divide(mean.sum(axis=0), city, out=np.zeros(len(city)), where=city > 0) * when
            return np.asarray(covariance * np.outer(usual, usual))
    return np.zeros((len(when), len(when)))


def _product(matrix: Floats) -> tuple[Floats, Floats]:
    """The best product of a column and a row for a matrix without negative entries: neither has any (Perron)."""
    left, size, right = np.linalg.svd(matrix, full_matrices=False)
    return np.abs(left[:, 0]) * size[0], np.abs(right[0])


def _root(covariance: Floats, when: Mask | None = None) -> Floats:
    """A lower triangular matrix R with R R' = covariance, where `when` holds: half of it need not be written."""
    least = max(TINY * float(np.trace(covariance)) / len(covariance), TINY**2)
    root = np.linalg.cholesky(covariance + least * np.eye(len(covariance)))
    return np.asarray(root if when is None else root * when[:, None])
