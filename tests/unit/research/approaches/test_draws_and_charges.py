"""Whatever is drawn is charged: every draw of a private technique has its event, and no other noise."""

from collections import Counter

import numpy as np
import pytest

from density_assets.privacy.noise import SimulatedNoise
from density_assets.research.approaches.techniques import TECHNIQUES
from density_assets.research.approaches.workload import town
from density_assets.research.streams import terms as publishing

TOWN = town(people=300, places=60, seed=3)
AT_ONCE = ("noisy_answers", "mwem", "dp_where", "markov", "n_grams", "efpag", "lpa", "lowrank")
STREAMS = ("uniform", "sample", "budget_distribution", "budget_absorption", "fast", "rescue_dp")


@pytest.fixture
def drawn(monkeypatch):
    """Events of all draws, in order."""
    events = []
    for name in ("gaussian", "laplace", "discrete_gaussian", "select"):
        real = getattr(SimulatedNoise, name)

        def noted(self, values, event, real=real):
            events.append(event)
            return real(self, values, event)

        monkeypatch.setattr(SimulatedNoise, name, noted)
    return events


@pytest.fixture
def charged(monkeypatch):
    """Events of all charges of a stream."""
    events, real = [], publishing.dearest_events

    def noted(charges, terms, hours):
        events.extend(charge.event for charge in charges)
        return real(charges, terms, hours)

    monkeypatch.setattr(publishing, "dearest_events", noted)
    return events


@pytest.mark.parametrize("name", AT_ONCE)
def test_every_draw_is_an_event_and_every_event_a_draw(name, drawn):
    technique = TECHNIQUES[name]
    published = technique.publish(TOWN, technique.parameters(epsilon=1.0, delta=1e-6), 1)
    assert Counter(drawn) == Counter(published.events)


@pytest.mark.parametrize("unit", ["week", "w hours"])
@pytest.mark.parametrize("name", STREAMS)
def test_every_draw_of_a_stream_is_charged_to_an_hour(name, unit, drawn, charged):
    """Equal draws of many hours may be made at once; the number of visits of a week is drawn besides."""
    technique = TECHNIQUES[name]
    published = technique.publish(TOWN, technique.parameters(epsilon=1.0, delta=1e-6, unit=unit), 1)
    besides = {event for event in drawn if event not in charged}
    assert set(charged) <= set(drawn)
    assert len(besides) == (1 if unit == "week" else 0)
    assert besides <= set(published.events)


def test_noise_is_as_large_as_its_event_says():
    technique = TECHNIQUES["uniform"]
    parameters = technique.parameters(epsilon=1.0, delta=1e-6, unit="w hours")
    silent = town(people=1, places=60, seed=3)
    published = technique.publish(silent, parameters, 1)
    (scale,) = {event.scale for event in published.events}
    # what is below zero is shown as zero: half of a Laplace variable is left, whose mean is scale/2
    assert published.density.mean() == pytest.approx(scale / 2, rel=0.1)
    assert np.isfinite(published.density).all()
