"""A week estimated after others: better than alone, the same in the first week, and alone where the estimator fails."""

from dataclasses import replace

import numpy as np
import pytest
from test_lowrank_scheme import SETTINGS, town

from density_assets.estimation import kronecker
from density_assets.estimation.weeks.state import Measured
from density_assets.privacy.noise import SimulatedNoise
from density_assets.schemes import SCHEMES, learning, learning_scheme
from density_assets.schemes.learning import (
    estimate_after,
    in_cells,
    learned,
    sums_after,
    sums_in_cells,
    week_between,
)
from density_assets.schemes.run import draw

PEOPLE, CELLS, TOWERS = 100_000, 30, 40


@pytest.fixture(scope="module")
def weeks() -> tuple[list[Measured], np.ndarray, object]:
    """Three draws of one week, its truth and its places."""
    counts, truth, places = town(PEOPLE, CELLS, TOWERS)
    scheme = learning_scheme("lowrank")
    plan = scheme.plan(SETTINGS)
    drawn = [draw(scheme, plan, counts, places, SimulatedNoise(seed)) for seed in range(3)]
    return [scheme.measured(plan, one.totals, one.series) for one in drawn], truth, places


def test_schemes_that_learn():
    assert [name for name in SCHEMES if learning_scheme(name)] == ["lowrank"]


def test_earlier_weeks_make_a_week_better(weeks):
    measured, truth, places = weeks
    to_cells = places.to_cells("towers")
    past, errors = None, []
    for week in measured:
        estimate = estimate_after(past, week, to_cells, places.tower_xy)
        errors.append(np.abs(to_cells @ (estimate.series - truth)).mean())
        assert estimate.cell_error.shape == (CELLS, 168)
        past = learned(past, week, places.tower_xy)
    assert errors[2] < errors[0]


def test_errors_of_sums_belong_to_the_estimate(weeks):
    measured, _, places = weeks
    to_cells, past = places.to_cells("towers"), None
    for week in measured:
        estimate, sums = (after(past, week, to_cells, places.tower_xy) for after in (estimate_after, sums_after))
        visits, each = to_cells @ estimate.series, (np.eye(CELLS), np.eye(168))
        alone = np.sqrt(sums.variance(visits, estimate.cell_error, *each))
        assert np.median(alone / estimate.cell_error) == pytest.approx(1.0, abs=0.03)
        past = learned(past, week, places.tower_xy)


def test_errors_of_cells_do_not_depend_on_how_many_are_computed_together(weeks, monkeypatch):
    measured, _, places = weeks
    to_cells = places.to_cells("towers")
    whole = estimate_after(None, measured[0], to_cells, places.tower_xy)
    monkeypatch.setattr(kronecker, "AT_ONCE", 7)
    parts = estimate_after(None, measured[0], to_cells, places.tower_xy)
    np.testing.assert_allclose(parts.cell_error, whole.cell_error, rtol=1e-12)


def test_counts_state_and_errors_of_sums_are_of_one_estimate_that_anything_else_makes_anew(weeks, monkeypatch):
    measured, _, places = weeks
    past, to_cells, xy = learned(None, measured[0], places.tower_xy), places.to_cells("towers"), places.tower_xy
    asked, estimate_week = [], learning.estimate_week
    monkeypatch.setattr(learning, "estimate_week", lambda *given: asked.append(given) or estimate_week(*given))
    week = measured[1]
    for _ in range(2):
        estimate_after(past, week, to_cells, xy)
        sums_after(past, week, to_cells, xy)
        learned(past, week, xy)
    assert len(asked) == 1
    moved = week.series.copy()
    moved[3, 5] += 1e-9
    otherwise = {"series": moved, "sigma": 1.0, "visits": 1.0, "visits_sigma": 1.0, "towers": None, "towers_sigma": 1.0}
    other_weeks = [(past, replace(week, **{name: value}), xy) for name, value in otherwise.items()]
    other_pasts = [(None, week, xy), (replace(past, hours=2 * past.hours), week, xy), (past, week, xy + 1.0)]
    for number, given in enumerate([*other_weeks, *other_pasts], start=2):
        learned(*given)
        assert len(asked) == number


@pytest.mark.parametrize("error", [np.linalg.LinAlgError("no"), FloatingPointError("no")])
def test_an_estimator_that_fails_says_so_and_leaves_what_was_known(weeks, monkeypatch, error):
    def fail(*_):
        raise error

    measured, _, places = weeks
    past = learned(None, measured[0], places.tower_xy)
    monkeypatch.setattr(learning, "estimate_week", fail)
    assert estimate_after(past, measured[1], places.to_cells("towers"), places.tower_xy) is None
    assert sums_after(past, measured[1], places.to_cells("towers"), places.tower_xy) is None
    assert learned(past, measured[1], places.tower_xy) is past


def test_numbers_that_are_not_finite_are_a_failure(weeks):
    measured, _, places = weeks
    broken = replace(measured[0], visits=float("nan"))
    assert estimate_after(None, broken, places.to_cells("towers"), places.tower_xy) is None


@pytest.mark.parametrize("value", [0.0, -1.0])
def test_a_week_of_nothing_can_be_estimated_and_learned_from(weeks, value):
    """Whatever noise makes of a small city, the pipeline goes on."""
    measured, _, places = weeks
    nothing = replace(measured[0], series=np.full((TOWERS, 168), value), visits=value, towers=np.full(TOWERS, value))
    past = None
    for week in (nothing, nothing, measured[0]):
        estimate_after(past, week, places.to_cells("towers"), places.tower_xy)
        assert sums_after(past, week, places.to_cells("towers"), places.tower_xy) is not None
        past = learned(past, week, places.tower_xy)


def test_weeks_after_make_a_week_better(weeks):
    measured, truth, places = weeks
    to_cells, later = places.to_cells("towers"), None
    for week in (measured[2], measured[1]):  # the newest first
        later = learned(later, week, places.tower_xy)
    final_week = week_between(None, later, measured[0], places.tower_xy)
    final = in_cells(final_week, to_cells)
    alone = estimate_after(None, measured[0], to_cells, places.tower_xy)
    errors = [np.abs(to_cells @ (estimate.series - truth)).mean() for estimate in (final, alone)]
    assert errors[0] < errors[1]
    assert final.cell_error.shape == (CELLS, 168)
    sums, visits = sums_in_cells(final_week, to_cells), to_cells @ final.series
    own = sums.variance(visits, final.cell_error, np.eye(CELLS), np.eye(168))
    assert np.sqrt(own).mean() == pytest.approx(final.cell_error.mean(), rel=0.1)


def test_a_final_estimate_that_fails_is_none(weeks, monkeypatch):
    measured, _, places = weeks
    later, to_cells = learned(None, measured[1], places.tower_xy), places.to_cells("towers")
    broken = replace(measured[0], visits=float("nan"))
    assert in_cells(week_between(None, later, broken, places.tower_xy), to_cells) is None

    def fail(*_):
        raise np.linalg.LinAlgError("no")

    monkeypatch.setattr(learning, "final_week", fail)
    assert week_between(None, later, measured[0], places.tower_xy) is None
