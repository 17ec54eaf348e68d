"""Every technique, by the name that people type: what it publishes, spends and refuses."""

import contextlib
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from density_assets.errors import BadInput
from density_assets.privacy.composition import spent
from density_assets.privacy.noise import SimulatedNoise
from density_assets.research.approaches.approaches_study import APPROACHES_STUDY, parameters
from density_assets.research.approaches.attacks import FINDERS
from density_assets.research.approaches.techniques import TECHNIQUES, technique_named
from density_assets.research.approaches.workload import town
from density_assets.research.streams import terms as stream_terms

TOWN = town(people=300, places=60, seed=3)
EMPTY = replace(TOWN, matrix=csr_array(TOWN.matrix.shape, dtype=np.int32))
AT_ONCE = ("noisy_answers", "mwem", "dp_where", "markov", "n_grams", "efpag", "lpa", "lowrank")
STREAMS = ("uniform", "sample", "budget_distribution", "budget_absorption", "fast", "rescue_dp")
PROMISING = [name for name, technique in TECHNIQUES.items() if "epsilon" in technique.parameters.model_fields]


@pytest.mark.parametrize("name", TECHNIQUES)
def test_a_density_is_published_and_the_same_seed_gives_it_again(name):
    technique = TECHNIQUES[name]
    first, again = (technique.publish(TOWN, technique.parameters(), 5) for _ in range(2))
    assert first.density.shape == (60, 168)
    assert np.isfinite(first.density).all()
    np.testing.assert_array_equal(first.density, again.density)
    assert (first.density >= 0).all()
    if first.traces is not None:
        assert (first.traces.matrix != again.traces.matrix).nnz == 0
        assert first.traces.matrix.shape == (len(first.traces.users), 60 * 168)
        assert set(first.traces.matrix.data) == {1}
    assert first.facts == again.facts


@pytest.mark.parametrize("name", PROMISING)
@pytest.mark.parametrize("epsilon", [0.3, 3.0])
def test_what_is_spent_is_what_was_promised(name, epsilon):
    technique = TECHNIQUES[name]
    published = technique.publish(TOWN, technique.parameters(epsilon=epsilon, delta=1e-6), 1)
    assert published.events
    assert spent(published.events, 1e-6).epsilon <= epsilon
    if name in AT_ONCE:  # a path of a stream may happen to be cheap
        assert spent(published.events, 1e-6).epsilon >= 0.98 * epsilon


@pytest.mark.parametrize("name", PROMISING)
def test_a_promise_is_about_a_user_and_others_promise_none(name):
    assert TECHNIQUES[name].protects == "a user's week"


def test_who_promises_nothing_in_epsilon_protects_nobody_or_tells_nothing():
    others = {name: TECHNIQUES[name].protects for name in TECHNIQUES if name not in PROMISING}
    assert {name for name, protects in others.items() if protects != "nobody"} == {"empty_map"}
    for name in others:
        assert TECHNIQUES[name].publish(TOWN, TECHNIQUES[name].parameters(), 5).events == ()


PLAIN = {"exact_counts", "empty_map", "flat_map"}


@pytest.mark.parametrize("name", sorted(TECHNIQUES.keys() - PLAIN - set(PROMISING)))
def test_nobody_to_publish_is_said(name):
    with pytest.raises(BadInput, match=r"empty|without any|no point|got none"):
        TECHNIQUES[name].publish(EMPTY, TECHNIQUES[name].parameters(), 1)


@pytest.mark.parametrize("name", PROMISING)
def test_who_promises_either_refuses_empty_traces_or_publishes_noise(name):
    technique = TECHNIQUES[name]
    with contextlib.suppress(BadInput):
        assert np.isfinite(technique.publish(EMPTY, technique.parameters(), 1).density).all()


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(BadInput, match=r"one of .*lowrank.*; got 'lowrnk'; did you mean 'lowrank'\?"):
        technique_named("lowrnk")


def test_every_technique_has_its_rows_in_the_study():
    assert {point["technique"] for point in APPROACHES_STUDY.grid} == set(TECHNIQUES)
    weaker = {point["technique"] for point in APPROACHES_STUDY.grid if point["unit"]}
    assert weaker == {"fast", "budget_distribution", "budget_absorption", "rescue_dp", "uniform", "sample"}


def test_the_promise_of_a_point_reaches_the_technique_and_its_own_delta_stays():
    point = {"technique": "fast", "epsilon": 0.7, "unit": "w hours"}
    chosen = parameters(TECHNIQUES["fast"], point)
    assert (chosen.epsilon, chosen.delta, chosen.unit) == (0.7, 1e-6, "w hours")
    metres = parameters(TECHNIQUES["never_walk_alone"], {"epsilon": None, "unit": None}).delta
    assert metres == 2_000.0


@pytest.mark.parametrize("name", FINDERS)
def test_shares_that_are_found_are_shares(name):
    technique = TECHNIQUES[name]
    assert 0 <= FINDERS[name](TOWN, technique.parameters(), 1) <= 1


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
    events, real = [], stream_terms.dearest_events

    def noted(charges, terms, hours):
        events.extend(charge.event for charge in charges)
        return real(charges, terms, hours)

    monkeypatch.setattr(stream_terms, "dearest_events", noted)
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


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("uniform", {"epsilon": 0}), ("uniform", {"epsilon": float("inf")}), ("uniform", {"delta": 0}),
     ("uniform", {"delta": 1}), ("uniform", {"unit": "day"}), ("uniform", {"window": 0}),
     ("uniform", {"hours_per_user": 0}), ("uniform", {"visits_per_hour": 0}), ("uniform", {"total_share": 1}),
     ("uniform", {"visits_clamp": 0}), ("uniform", {"unknown": 1}), ("sample", {"every": 0}), ("fast", {"samples": 0}),
     ("fast", {"drift": 0}), ("rescue_dp", {"largest_share": 1}), ("budget_distribution", {"comparison_share": 1}),
     ("budget_absorption", {"most_parts": 0}), ("k_threshold", {"k": 0}), ("markov", {"l_max": 0}),
     ("markov", {"threshold": -1}), ("markov", {"times": 0}), ("n_grams", {"n_max": 1}), ("n_grams", {"repeats": 0}),
     ("n_grams", {"first_share": 1}), ("dp_where", {"regions_per_side": 0}), ("dp_where", {"rings": 0})],
)  # fmt: skip
def test_parameters_out_of_range_are_named(name, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        TECHNIQUES[name].parameters(**wrong)
