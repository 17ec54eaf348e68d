"""Errors of sums in a small table: exact where errors have its form, close to the estimate's own elsewhere."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from density_assets.estimation.kronecker import Block, BlockDiagonal
from density_assets.estimation.weeks.errors import Apart, OfFactors, OfStretches, Scaled, Separable, Together
from density_assets.estimation.weeks.estimate import estimate_week
from density_assets.estimation.weeks.state import Measured
from density_assets.estimation.weeks.stretches import Stretch
from density_assets.estimation.weeks.summary import Summary, summarise

TOWERS, CELLS, HOURS = 40, 24, 168
RANDOM = np.random.default_rng(4)
XY = 500.0 * np.column_stack([np.arange(TOWERS) % 8, np.arange(TOWERS) // 8])
RHYTHM = 50.0 + 30.0 * np.sin(np.arange(HOURS) * np.pi / 12)
SERIES = np.outer(RANDOM.uniform(0.5, 2.0, TOWERS), RHYTHM)
DAYS = np.repeat(np.eye(7), 24, axis=0)


def shares() -> csr_array:
    """Every tower is shared by two cells."""
    shared = RANDOM.uniform(size=TOWERS)
    to_cells = np.zeros((CELLS, TOWERS))
    to_cells[np.arange(TOWERS) % CELLS, np.arange(TOWERS)] = shared
    to_cells[(np.arange(TOWERS) + 1) % CELLS, np.arange(TOWERS)] += 1 - shared
    return csr_array(to_cells)


def basis(size: int) -> np.ndarray:
    return np.linalg.qr(RANDOM.normal(size=(size, size)))[0]


def separable(common: bool = False) -> Separable:
    """A filter whose errors are a product, with the rows and columns of a past."""
    spread = np.outer(RANDOM.uniform(1.0, 9.0, TOWERS), RANDOM.uniform(0.1, 4.0, HOURS))
    shared = np.outer(RANDOM.uniform(0.0, 3.0, TOWERS), RANDOM.uniform(0.0, 1.0, HOURS)) if common else None
    rows, columns = RANDOM.uniform(0.8, 1.2, TOWERS), RANDOM.uniform(0.8, 1.2, HOURS)
    towers = BlockDiagonal((Block(slice(None), basis(TOWERS)),))
    return Separable(towers, basis(HOURS), spread, shared, rows, columns)


def scaled(errors) -> Scaled:
    factor = RANDOM.uniform(0.9, 1.1, TOWERS)
    return Scaled(SERIES, errors, factor, np.full(TOWERS, 0.03), 1.3, 0.05, XY)


def usual() -> Together:
    stretch = Stretch(3, 60, np.full(9, 20.0), np.full(9, 5.0))
    root = RANDOM.normal(size=(HOURS, 5)) / 50
    return Together((separable(), OfFactors(SERIES, root @ root.T), OfStretches([stretch])))


def published(errors: Scaled, to_cells: csr_array) -> tuple[np.ndarray, np.ndarray]:
    visits = to_cells @ (errors.scale * errors.factor[:, None] * errors.series)
    return visits, np.sqrt(errors.variance(to_cells.toarray(), np.eye(HOURS)))


def random_sums() -> tuple[np.ndarray, np.ndarray]:
    return RANDOM.integers(0, 2, (30, CELLS)).astype(float), RANDOM.integers(0, 2, (HOURS, 20)).astype(float)


def beside(errors: Scaled, to_cells: csr_array, summary: Summary, areas, hours) -> np.ndarray:
    """Standard errors of sums by the summary, beside the exact ones."""
    exact = errors.variance(areas @ to_cells.toarray(), hours)
    return np.sqrt(summary.variance(*published(errors, to_cells), areas, hours) / exact)


@pytest.mark.parametrize("errors", [separable(), separable(common=True), usual()], ids=["filter", "alone", "usual"])
def test_errors_of_its_form_are_told_exactly(errors):
    of_week, to_cells = scaled(errors), shares()
    summary = summarise(of_week, to_cells, leading=(7, TOWERS))
    for areas, hours in (random_sums(), (np.eye(CELLS), np.eye(HOURS)), (np.ones((1, CELLS)), DAYS)):
        assert beside(of_week, to_cells, summary, areas, hours) == pytest.approx(1.0, abs=1e-3)


def test_odd_towers_and_days_have_errors_of_their_own():
    hours, towers = np.zeros(HOURS, bool), np.zeros(TOWERS, bool)
    hours[72:96] = towers[[3, 11]] = True
    of_week, to_cells = scaled(Apart(usual(), separable(), towers, hours)), shares()
    summary = summarise(of_week, to_cells, leading=(7, TOWERS))
    assert beside(of_week, to_cells, summary, *random_sums()) == pytest.approx(1.0, abs=0.02)
    without = summarise(scaled(usual()), to_cells, leading=(7, TOWERS))
    assert np.abs(beside(of_week, to_cells, without, np.eye(CELLS), DAYS) - 1).max() > 0.05  # so it matters


def test_what_is_left_out_of_the_patterns_is_not_lost():
    of_week, to_cells = scaled(separable()), shares()
    few = summarise(of_week, to_cells, leading=(4,))
    assert beside(of_week, to_cells, few, *random_sums()).mean() == pytest.approx(1.0, abs=0.03)


def test_a_cell_and_hour_has_at_least_its_published_error_and_adding_squares_is_not_enough():
    truth = SERIES + 20 * RANDOM.normal(size=SERIES.shape)
    state = None
    for _ in range(3):
        noisy = truth + RANDOM.normal(0, 20, truth.shape)
        week = Measured(noisy, 20.0, truth.sum(), 2000.0, truth.sum(axis=1) + RANDOM.normal(0, 100, TOWERS), 100.0)
        estimate, state = estimate_week(state, week, XY)
    to_cells = shares()
    visits, error = published(estimate.errors, to_cells)
    summary = summarise(estimate.errors, to_cells)
    one = np.sqrt(summary.variance(visits, error, np.eye(CELLS), np.eye(HOURS)))
    assert (one >= error * (1 - 1e-9)).all()
    assert one.mean() < 1.05 * error.mean()
    whole, exact = (
        summary.variance(visits, error, np.ones((1, CELLS)), np.ones((HOURS, 1))).item(),
        estimate.variance_of_sums(np.ones((1, CELLS)) @ to_cells.toarray(), np.ones((HOURS, 1))).item(),
    )
    assert whole == pytest.approx(exact, rel=0.1)
    assert whole > 4 * (error**2).sum()


def test_a_city_without_visits_has_errors_all_the_same():
    nothing = Scaled(np.zeros_like(SERIES), separable(), np.ones(TOWERS), np.zeros(TOWERS), 0.0, 0.5, XY)
    to_cells = shares()
    summary = summarise(nothing, to_cells, leading=(7, TOWERS))
    assert beside(nothing, to_cells, summary, *random_sums()) == pytest.approx(1.0, abs=1e-3)
