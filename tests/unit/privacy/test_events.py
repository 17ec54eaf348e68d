import math

import dp_accounting as dpa
import pytest

from density_assets.privacy.events import Event, Gaussian, Laplace, Selection, from_record, to_record

EVENTS = [Gaussian("series", 20.0, 5.0), Laplace("totals", 3.0, 1.5), Selection("k", 0.2, 5.0)]


@pytest.mark.parametrize("event", EVENTS)
def test_records_and_back(event):
    assert from_record(to_record(event)) == event


def test_what_accounting_sees_is_noise_over_sensitivity():
    assert EVENTS[0].dp_event == dpa.GaussianDpEvent(4.0)
    assert EVENTS[1].dp_event == dpa.LaplaceDpEvent(2.0)
    assert EVENTS[2].dp_event == dpa.ZCDpEvent(0.2**2 / 8)


def test_standard_deviations():
    assert EVENTS[0].standard_deviation == 20
    assert EVENTS[1].standard_deviation == pytest.approx(3 * math.sqrt(2))
    assert EVENTS[2].standard_deviation is None


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_noise_and_sensitivity_must_be_positive(bad):
    with pytest.raises(ValueError, match=f"sigma must be positive and finite, got sigma={bad}"):
        Gaussian("q", bad, 1.0)
    with pytest.raises(ValueError, match="sensitivity must be positive"):
        Laplace("q", 1.0, bad)
    with pytest.raises(ValueError, match="epsilon must be positive"):
        Selection("q", bad, 1.0)


def test_an_unknown_event_is_refused():
    with pytest.raises(ValueError, match=r"one of gaussian, laplace, .* sparse_vector, got 'uniform'"):
        from_record({"kind": "uniform", "query": "q"})


def test_an_event_without_a_cost_cannot_exist():
    with pytest.raises(TypeError):
        Event("free lunch")
