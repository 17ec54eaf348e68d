"""People: visits by public factors, with intervals that hold, and sums that are sums."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from density_assets.calendar import HOURS
from density_assets.estimation.weeks.summary import Kind, Summary
from density_assets.publication.people import Factor, PeopleFactors, people_in_cells, people_of_sums
from density_assets.publication.sum_errors import WeekCounts

CELLS = 5
EVERY = np.ones(HOURS, bool)
AREAS = np.array([[1.0, 1, 1, 1, 1], [1, 1, 0, 0, 0], [0, 0, 1, 1, 1]])
PERIODS = np.column_stack([np.eye(HOURS), np.ones(HOURS)])

shares = st.floats(0.05, 1.0)


def numbers(value: float, size: int, low: float = 1.0, high: float = 1.0) -> Factor:
    """A factor that is alike everywhere; bounds are relative."""
    return Factor(np.full(size, value), np.full(size, value * low), np.full(size, value * high))


def factors(share=0.25, devices=2.0, active=0.5, *, low: float = 1.0, high: float = 1.0) -> PeopleFactors:
    return PeopleFactors(
        numbers(share, CELLS, low, high), numbers(devices, CELLS, low, high), numbers(active, HOURS, low, high)
    )


def counted(seed: int = 1, *, error: float = 10.0, shared: float = 0.0) -> WeekCounts:
    """Counts of a few cells; with an error of all cells and hours together, its size in each of them."""
    visits = np.random.default_rng(seed).integers(0, 2_000, (CELLS, HOURS)).astype(float)
    kind = Kind("places", csr_array(np.full((CELLS, 1), shared or 1e-9)), np.ones((HOURS, 1)))
    return WeekCounts(visits, np.full(visits.shape, error), Summary((kind,), np.zeros((HOURS, 1))), EVERY)


def test_people_are_visits_by_the_factors():
    """A quarter of the devices are ours, people carry two, half of these are heard of in an hour: four per visit."""
    found = people_in_cells(factors(), counted())
    assert (found.number == 4 * counted().visits).all()


def test_each_factor_is_that_of_the_cell_and_hour():
    share, active = np.array([0.1, 0.2, 0.5, 1, 1]), np.where(np.arange(HOURS) % 24 < 6, 0.1, 0.5)
    by_place = PeopleFactors(Factor(share, share, share), numbers(1.0, CELLS), Factor(active, active, active))
    number = people_in_cells(by_place, counted()).number
    assert number[0, 3] == pytest.approx(counted().visits[0, 3] * 10 * 10, abs=1)
    assert number[2, 12] == pytest.approx(counted().visits[2, 12] * 2 * 2, abs=1)


@given(shares, shares, st.floats(0.5, 3.0), st.integers(0, 99))
def test_sums_of_people_are_sums_of_the_people_of_cells(share, active, devices, seed):
    """And all cells of an hour together are the people of all visits of the hour, but for one rounding."""
    known, week = factors(share, devices, active, low=0.8, high=1.25), counted(seed)
    cells = people_in_cells(known, week)
    sums = people_of_sums(known, week, cells.number, AREAS, PERIODS)
    assert (sums.number == AREAS @ cells.number @ PERIODS).all()
    assert (sums.number[0] == sums.number[1] + sums.number[2]).all()
    of_all = week.visits.sum(axis=0) / (share * devices * active)
    assert np.abs(sums.number[0, :HOURS] - of_all).max() <= 0.5 + 1e-6


@given(shares, shares, st.floats(0.5, 3.0), st.floats(0.5, 1.0), st.floats(1.0, 2.0), st.floats(0.0, 50.0))
def test_intervals_hold_the_number_and_are_never_negative(share, active, devices, low, high, error):
    known, week = factors(share, devices, active, low=low, high=high), counted(error=error)
    cells = people_in_cells(known, week)
    sums = people_of_sums(known, week, cells.number, AREAS, PERIODS)
    for found in (cells, sums):
        assert (found.low <= found.number).all()
        assert (found.number <= found.high).all()
        assert (found.low >= 0).all()


@given(shares, st.floats(0.5, 0.99))
def test_more_of_any_factor_is_fewer_people(share, less):
    """With every factor: what explains more of the devices leaves fewer people behind each visit."""
    for name in ("share", "devices", "active"):
        few, many = (people_in_cells(factors(**{name: value}), counted()).number for value in (share, share * less))
        assert (few <= many).all()
        assert few.sum() < many.sum()


@given(st.floats(0.5, 1.0), st.floats(1.0, 2.0), st.floats(0.5, 1.0), st.floats(1.0, 2.0))
def test_wider_bounds_are_wider_intervals(low, high, lower, higher):
    one, two = factors(low=low, high=high), factors(low=low * lower, high=high * higher)
    for week in (counted(), counted(shared=5.0)):
        narrow, wide = (
            people_of_sums(known, week, people_in_cells(known, week).number, AREAS, PERIODS) for known in (one, two)
        )
        assert (wide.low <= narrow.low).all()
        assert (wide.high >= narrow.high).all()


def test_an_interval_is_that_of_visits_where_each_visit_is_a_person():
    """Noise alone, and noise of sums as the release tells it: 10 in each cell that all share, 24 hours of 5 cells."""
    week = counted(error=10.0, shared=10.0)
    ones = factors(1.0, 1.0, 1.0)
    day = np.zeros((HOURS, 1))
    day[:24] = 1
    cells = people_in_cells(ones, week)
    found = people_of_sums(ones, week, cells.number, AREAS[:1], day)
    half = 1.96 * 10 * 5 * 24
    assert found.high.item() - found.number.item() == pytest.approx(half, abs=1)
    assert found.number.item() - found.low.item() == pytest.approx(half, abs=1)


def test_without_errors_of_sums_only_a_single_cell_and_hour_has_an_interval():
    week = WeekCounts(counted().visits, np.full((CELLS, HOURS), 10.0), None, EVERY)
    cells = people_in_cells(factors(), week)
    areas = np.vstack([np.eye(CELLS)[:1], AREAS[:1]])
    sums = people_of_sums(factors(), week, cells.number, areas, PERIODS)
    assert np.isfinite(sums.low[0, :HOURS]).all()
    assert np.isnan(sums.low[0, HOURS])
    assert np.isnan(sums.low[1]).all()
    assert np.isnan(sums.high[1]).all()
    assert (sums.low[0, :HOURS] == cells.low[0]).all()


def test_the_interval_holds_the_truth_wherever_factors_lie_between_their_bounds():
    """Visits with noise of known size, factors drawn anew for every cell and hour between their bounds: 95 % at least.

    The people who are really there have those factors; the release knows the bounds alone.
    """
    random = np.random.default_rng(5)
    known, true = factors(low=0.9, high=1.1), np.full((CELLS, HOURS), 500.0)
    held = []
    for _ in range(60):
        share, devices = (random.uniform(0.9, 1.1, (CELLS, 1)) * value for value in (0.25, 2.0))
        active = random.uniform(0.9, 1.1, HOURS) * 0.5
        people = true / (share * devices * active)
        noisy = np.maximum(np.rint(true + random.normal(0, 30, true.shape)), 0)
        week = WeekCounts(noisy, np.full(true.shape, 30.0), Summary((), np.zeros((HOURS, 1))), EVERY)
        cells = people_in_cells(known, week)
        sums = people_of_sums(known, week, cells.number, AREAS, PERIODS)
        held += [((cells.low <= people) & (people <= cells.high)).mean()]
        truth = AREAS @ people @ PERIODS
        held += [((sums.low <= truth) & (truth <= sums.high)).mean()]
    assert np.mean(held) >= 0.95


@pytest.mark.parametrize(("value", "low", "high"), [(0.5, 0.6, 0.7), (0.5, 0.4, 0.45), (0.5, 0.0, 1.0), (-1, -2, 1)])
def test_a_factor_outside_its_bounds_is_no_factor(value, low, high):
    with pytest.raises(ValueError, match="between its bounds"):
        Factor(*(np.full(3, number) for number in (value, low, high)))
