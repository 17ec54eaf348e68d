"""What attackers gain from exact counts, from nothing, and from what noise hides."""

import numpy as np
import pytest

from density_assets.research.approaches.attacks import crowds_to_recover, membership, recovery
from density_assets.research.approaches.technique import Parameters, Published, Technique
from density_assets.research.approaches.techniques import EMPTY, EXACT, TECHNIQUES, scheme_technique


def test_exact_counts_give_everybody_away():
    assert membership(EXACT, Parameters(), 0)["of_map"] > 0.95
    assert recovery(EXACT, Parameters(), 0) == pytest.approx(1)


def test_an_empty_map_gives_nothing_away():
    assert membership(EMPTY, Parameters(), 0) == {}  # nothing is shown, so nothing can be told of it
    assert abs(recovery(EMPTY, Parameters(), 0)) < 0.2


def test_noise_hides_people_and_less_of_it_hides_them_less():
    technique = scheme_technique("efpag")
    hidden, shown = (technique.parameters(epsilon=epsilon) for epsilon in (0.3, 100.0))
    assert membership(technique, hidden, 0)["of_map"] < 0.7
    assert recovery(technique, hidden, 0) < 0.2 < recovery(technique, shown, 0)


def test_records_as_they_are_give_everybody_away():
    def publish(traces, chosen, seed):
        return Published(traces.aggregate().astype(np.float64), traces)

    plain = Technique("records", "trajectories", "nobody", "none", "–", Parameters, publish)
    assert membership(plain, Parameters(), 1)["of_records"] > 0.95


def test_records_of_nobody_are_attacked_too():
    technique = TECHNIQUES["markov"]
    found = membership(technique, technique.parameters(epsilon=0.3), 0)
    assert found["of_records"] < 0.75


def test_people_to_recover_are_seen_every_hour():
    people, others = crowds_to_recover()
    assert (people.traces.aggregate().sum(axis=0) == len(people.places)).all()
    assert people.places.shape == others.places.shape
    assert (people.places != others.places).any(axis=1).all()
