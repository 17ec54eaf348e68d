import numpy as np
import ot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog
from scipy.spatial.distance import cdist
from scipy.stats import wasserstein_distance

from density_assets.research.metrics import earth_movers
from density_assets.research.metrics.earth_movers import emd_per_hour, mean_emd

SQUARE = np.array([[0, 0], [300, 0], [0, 400], [300, 400]])
PLACES = np.random.default_rng(7).uniform(0, 10_000, size=(8, 2))
maps = arrays(np.float64, (8, 1), elements=st.integers(0, 50)).filter(np.any)


@pytest.fixture
def city():
    rng = np.random.default_rng(8)
    true = rng.poisson(rng.lognormal(3, 1, size=(60, 1)), size=(60, 6)) + 1
    return true, true * rng.normal(1, 0.3, true.shape).clip(0), rng.uniform(0, 10_000, size=(60, 2))


def by_linear_program(p, q, metres):
    n = len(p)
    rows, columns = np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))
    return linprog(metres.ravel(), A_eq=np.vstack([rows, columns]), b_eq=np.concatenate([p, q])).fun


def test_metres_by_hand():
    true = np.array([[2, 1, 1], [0, 1, 0], [0, 1, 0], [0, 1, 1]])
    estimate = np.array([[0, 2, 9], [0, 2, 0], [0, 0, 0], [5, 0, 9]])
    # all across the diagonal; half up one side; the same shares
    np.testing.assert_allclose(emd_per_hour(true, estimate, SQUARE), [500, 200 * 2 / 2, 0], atol=1e-9)
    assert mean_emd(true, estimate, SQUARE) == pytest.approx(700 / 3)


def test_on_a_line_it_is_the_wasserstein_distance():
    rng = np.random.default_rng(9)
    x = rng.uniform(0, 5_000, 40)
    true, estimate = rng.poisson(2, size=(2, 40, 5)) + 1
    expected = [wasserstein_distance(x, x, p, q) for p, q in zip(true.T, estimate.T, strict=True)]
    np.testing.assert_allclose(emd_per_hour(true, estimate, np.column_stack([x, 0 * x])), expected)


def test_agrees_with_a_linear_program_and_with_the_solver_on_whole_maps(city):
    true, estimate, places = city
    p, q, metres = true / true.sum(axis=0), estimate / estimate.sum(axis=0), cdist(places, places)
    hours = emd_per_hour(true, estimate, places)
    whole = [ot.emd2(np.ascontiguousarray(p[:, t]), np.ascontiguousarray(q[:, t]), metres) for t in range(6)]
    np.testing.assert_allclose(hours, whole, rtol=1e-9)
    assert hours[0] == pytest.approx(by_linear_program(p[:, 0], q[:, 0], metres))


@settings(deadline=None)  # the solver's time is not what is tested
@given(maps, maps)
def test_cancelling_shared_mass_changes_nothing(true, estimate):
    p, q = true[:, 0] / true.sum(), estimate[:, 0] / estimate.sum()
    whole = ot.emd2(p, q, cdist(PLACES, PLACES))
    assert mean_emd(true, estimate, PLACES) == pytest.approx(whole, rel=1e-9, abs=1e-8)


@settings(deadline=None)  # the solver's time is not what is tested
@given(maps, maps, maps)
def test_it_is_a_metric_of_maps(a, b, c):
    def distance(p, q):
        return mean_emd(p, q, PLACES)

    assert distance(a, b) == pytest.approx(distance(b, a), rel=1e-9, abs=1e-8)
    assert distance(a, 3 * a) == pytest.approx(0, abs=1e-8)
    assert distance(a, c) <= distance(a, b) + distance(b, c) + 1e-8


def test_what_is_left_by_rounding_is_no_distance():
    true = np.random.default_rng(10).lognormal(0, 3, size=(8, 20))
    assert emd_per_hour(true, 0.1 * true, PLACES).max() < 1e-9
    single = emd_per_hour(true.astype(np.float32), true, PLACES)
    assert single.max() < 1e-2


def test_an_hour_with_one_empty_map_is_left_out_and_with_two_counts_zero():
    true, estimate = np.array([[1, 1, 0], [0, 0, 0]]), np.array([[0, 0, 0], [1, 0, 0]])
    places = SQUARE[:2]
    np.testing.assert_array_equal(emd_per_hour(true, estimate, places), [300, np.nan, 0])
    assert mean_emd(true, estimate, places) == 150


def test_chosen_hours_and_threads(city):
    true, estimate, places = city
    all_hours = emd_per_hour(true, estimate, places)
    np.testing.assert_array_equal(emd_per_hour(true, estimate, places, hours=[4, 1], threads=2), all_hours[[4, 1]])
    assert mean_emd(true, estimate, places, hours=range(2)) == pytest.approx(all_hours[:2].mean())


@pytest.mark.filterwarnings("ignore:numItermax")
def test_a_solution_that_is_not_optimal_is_refused(city, monkeypatch):
    monkeypatch.setattr(earth_movers, "MAX_PIVOTS", 1)
    with pytest.raises(RuntimeError, match="must be optimal, got: numItermax reached"):
        emd_per_hour(*city)


def test_centroids_of_other_cells_are_refused():
    with pytest.raises(ValueError, match=r"8 rows of x and y, got shape \(4, 2\)"):
        emd_per_hour(np.ones((8, 1)), np.ones((8, 1)), SQUARE)
