"""Events as values, by hand: what accounting sees of them, what noise they ask for, what they refuse."""

import math
from dataclasses import fields, replace

import dp_accounting as dpa
import pytest

from density_assets.privacy.events import (
    Event,
    Gaussian,
    Laplace,
    LaplaceVector,
    Selection,
    SparseVector,
    WindowSelection,
    from_record,
    to_record,
)

GAUSSIAN, LAPLACE = Gaussian("series", 20.0, 5.0), Laplace("totals", 3.0, 1.5)
VECTOR, SELECTION = LaplaceVector("all", 3.0, 1.5), Selection("k", 0.2, 5.0)
WINDOWS = WindowSelection("windows", 0.2, 5.0, 0.3)
SPARSE = SparseVector("hours", epsilon=0.5, scale=20.0, sensitivity=4.0, releases=5, distance=3.0, streams=2)
PURE = replace(SPARSE, pure=True)
EVENTS = [GAUSSIAN, LAPLACE, VECTOR, SELECTION, WINDOWS, SPARSE, PURE]


@pytest.mark.parametrize("event", EVENTS)
def test_records_and_back(event):
    assert from_record(to_record(event)) == event
    assert to_record(event) == {"kind": event.kind} | {each.name: getattr(event, each.name) for each in fields(event)}


def test_kinds_have_the_names_that_ledgers_hold():
    kinds = ["gaussian", "laplace", "laplace_vector", "selection", "window_selection", "sparse_vector"]
    assert [event.kind for event in EVENTS[:-1]] == kinds


def test_what_accounting_sees():
    assert GAUSSIAN.dp_event == dpa.GaussianDpEvent(4.0)
    assert LAPLACE.dp_event == dpa.LaplaceDpEvent(2.0)
    assert VECTOR.dp_event == dpa.ZCDpEvent(0.5**2 / 2)  # sensitivity over scale is a half
    assert SELECTION.dp_event == WINDOWS.dp_event == dpa.ZCDpEvent(SELECTION.rho)
    assert SELECTION.rho == pytest.approx(0.2**2 / 8)
    assert SPARSE.dp_event == dpa.ZCDpEvent(SPARSE.rho)
    assert SPARSE.rho == pytest.approx(2 * 5 * (0.5**2 + 0.2**2) / 2)  # a step is a run and a histogram of 4/20
    assert PURE.dp_event == dpa.ZCDpEvent(PURE.rho)
    assert PURE.pure_epsilon == SPARSE.pure_epsilon == pytest.approx(2 * 5 * (0.5 + 0.2))
    assert PURE.rho == pytest.approx(7.0**2 / 2)


def test_standard_deviations():
    assert GAUSSIAN.standard_deviation == 20
    assert LAPLACE.standard_deviation == VECTOR.standard_deviation == pytest.approx(3 * math.sqrt(2))
    assert SPARSE.standard_deviation == pytest.approx(20 * math.sqrt(2))
    assert SELECTION.standard_deviation is None


def test_a_selection_divides_scores_by_twice_their_sensitivity_over_epsilon():
    assert SELECTION.scale == pytest.approx(2 * 5.0 / 0.2)


def test_comparisons_have_the_noise_of_the_sparse_vector_technique():
    """Twice the distance over epsilon on a threshold, four times on what is compared with it (Dwork & Roth 2014)."""
    assert SPARSE.threshold_noise == Laplace("hours", 2 * 3.0 / 0.5, 3.0)
    assert SPARSE.distance_noise == Laplace("hours", 4 * 3.0 / 0.5, 3.0)
    assert SPARSE.release_noise == Laplace("hours", 20.0, 4.0)


@pytest.mark.parametrize("done", [0, 1, 4])
def test_the_last_histogram_spends_what_is_left_and_no_more(done):
    left = 5 - done
    assert PURE.last_noise(done).scale == pytest.approx(4.0 / (left * 0.7))
    last = SPARSE.last_noise(done)
    assert (last.query, last.sensitivity) == ("hours", 4.0)
    assert (4.0 / last.scale) ** 2 / 2 == pytest.approx(left * (0.5**2 + 0.2**2) / 2)


@pytest.mark.parametrize("done", [5, 6])
def test_a_stream_that_has_used_all_its_steps_has_nothing_left(done):
    with pytest.raises(ValueError, match=f"a stream has 5 steps, got {done} done"):
        SPARSE.last_noise(done)


def test_a_stream_has_steps_of_one_person_one_stream_and_zcdp_unless_it_says_otherwise():
    plain = SparseVector("hours", epsilon=0.5, scale=20.0, sensitivity=4.0, releases=5)
    assert (plain.distance, plain.streams, plain.change, plain.pure) == (1.0, 1, 0.0, False)


NUMBERS = {
    GAUSSIAN: ("sigma", "sensitivity"),
    LAPLACE: ("scale", "sensitivity"),
    VECTOR: ("scale", "sensitivity"),
    SELECTION: ("epsilon", "sensitivity"),
    WINDOWS: ("epsilon", "sensitivity"),
    SPARSE: ("epsilon", "scale", "sensitivity", "distance", "releases", "streams"),
}


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
@pytest.mark.parametrize(("event", "field"), [(event, field) for event, names in NUMBERS.items() for field in names])
def test_noise_and_sensitivity_must_be_positive(event, field, bad):
    with pytest.raises(ValueError, match=f"{field} must be positive and finite, got {field}={bad}"):
        replace(event, **{field: bad})


def test_an_unknown_event_is_refused():
    with pytest.raises(ValueError, match=r"one of gaussian, laplace, .* sparse_vector, got 'uniform'"):
        from_record({"kind": "uniform", "query": "q"})
    with pytest.raises(ValueError, match="got None: it cannot be accounted for"):
        from_record({"query": "q", "sigma": 1.0, "sensitivity": 1.0})


def test_an_event_without_a_cost_cannot_exist():
    with pytest.raises(TypeError):
        Event("free lunch")
