"""Synthetic people: what one person can move, what it costs, and that they look like those they stand for."""

import math

import numpy as np
import pytest
from small_crowd import HEAVY, DeafNoise, crowd, joined, nobody

from density_assets.errors import BadInput
from density_assets.privacy.composition import spent
from density_assets.quality.accuracy import pearson
from density_assets.research.approaches.workload import town
from density_assets.research.trajectories import dp_where, markov, ngrams, synthesis
from density_assets.research.trajectories.dp_where import DP_WHERE, DpWhereParameters
from density_assets.research.trajectories.markov import MARKOV, MarkovParameters
from density_assets.research.trajectories.ngrams import N_GRAMS, NGramParameters, gram_counts, level_sensitivity
from density_assets.research.trajectories.synthesis import Statistic, capped_counts, capped_sensitivity, keep_visits

TECHNIQUES = (DP_WHERE, MARKOV, N_GRAMS)
MODULES = {"dp_where": dp_where, "markov": markov, "n_grams": ngrams}
FEW, MANY = {"l_max": 4, "repeats": 2}, {"l_max": 30, "repeats": 168}


def grams(traces, parameters, seed):
    """All grams of each order, whatever is expanded, as one vector over codes."""
    person, token = ngrams.sequences(traces, parameters, seed)
    alphabet = traces.rois * parameters.blocks + 2
    found = {}
    for order in range(1, parameters.n_max + 1):
        codes, counts = gram_counts(person, token, order, alphabet, parameters.repeats)
        table = np.zeros(alphabet**order)
        table[codes] = counts
        bound = level_sensitivity(order, parameters.l_max, parameters.repeats)
        found[ngrams.level_name(order)] = Statistic(table, bound)
    return found | ngrams.other_statistics(traces, parameters)


CASES = {
    "dp_where": lambda traces: dp_where.statistics(traces, DpWhereParameters(), 0),
    "Markov, few": lambda traces: markov.statistics(traces, MarkovParameters(**FEW), 0),
    "Markov, many": lambda traces: markov.statistics(traces, MarkovParameters(**MANY), 0),
    "n-grams, few": lambda traces: grams(traces, NGramParameters(n_max=3, blocks=3, **FEW), 0),
    "n-grams, many": lambda traces: grams(traces, NGramParameters(n_max=2, blocks=1, **MANY), 0),
    "n-grams, once": lambda traces: grams(traces, NGramParameters(n_max=2, blocks=24, l_max=5, repeats=1), 0),
}


def moved(before: Statistic, after: Statistic) -> float:
    """The L2 norm of a change; of scores for selections, of the largest change in each row."""
    change = np.abs(after.values - before.values)
    return float(np.linalg.norm(change.max(axis=1) if change.shape[-1] == dp_where.CANDIDATES else change))


def too_far(case, heavy, seed=0):
    """Statistics that somebody moves further than is stated."""
    without = crowd(seed=seed)
    before, after = case(without), case(joined(without, *HEAVY[heavy]))
    assert {name: each.sensitivity for name, each in before.items()} == {n: e.sensitivity for n, e in after.items()}
    return {name for name in before if moved(before[name], after[name]) > before[name].sensitivity * (1 + 1e-9)}


@pytest.mark.parametrize("heavy", HEAVY)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(2))
def test_one_person_moves_no_statistic_further_than_stated(case, heavy, seed):
    assert too_far(CASES[case], heavy, seed) == set()


def test_bounds_are_reached():
    without = crowd()
    before, after = (CASES["Markov, many"](each) for each in (without, joined(without, *HEAVY["at home"])))
    assert moved(before["transitions"], after["transitions"]) == pytest.approx(30)
    assert moved(before["visits"], after["visits"]) == 60
    assert moved(before["profile"], after["profile"]) == pytest.approx(1)
    assert moved(before["people"], after["people"]) == 1
    before, after = (CASES["n-grams, once"](each) for each in (without, joined(without, *HEAVY["everywhere"])))
    assert moved(before["grams of 1"], after["grams of 1"]) == pytest.approx(math.sqrt(5 + 2))
    assert moved(before["grams of 2"], after["grams of 2"]) == pytest.approx(math.sqrt(5 + 1))


def test_sequences_that_are_not_truncated_are_caught(monkeypatch):
    for module in (markov, ngrams):
        monkeypatch.setattr(module, "keep_visits", lambda traces, most, seed: keep_visits(traces, 168, seed))
    assert "transitions" in too_far(CASES["Markov, few"], "everywhere")
    assert {"grams of 1", "grams of 2", "grams of 3"} <= too_far(CASES["n-grams, few"], "everywhere")


def test_grams_that_are_not_capped_are_caught(monkeypatch):

    for module in (markov, ngrams):
        monkeypatch.setattr(module, "capped_counts", lambda person, code, repeats: capped_counts(person, code, 999))
    few = {"l_max": 10, "repeats": 1}
    assert too_far(lambda traces: markov.statistics(traces, MarkovParameters(**few), 0), "at home") == {"transitions"}
    assert "grams of 1" in too_far(lambda traces: grams(traces, NGramParameters(blocks=1, **few), 0), "at home")


def test_people_who_are_counted_more_than_once_are_caught(monkeypatch):
    """A home for each visit, and profiles of visits rather than of people."""

    def of_visits(traces, kind=None, kinds=1):
        counts = np.bincount(synthesis.profile_bin(traces.points()[2]), minlength=48)
        return Statistic(counts[:, None].astype(float), 1.0)

    visited = dp_where.anchors
    monkeypatch.setattr(dp_where, "anchors", lambda traces, seed: (traces.points()[1], visited(traces, seed)[1]))
    monkeypatch.setattr(dp_where, "at_work", lambda *_: None)
    monkeypatch.setattr(dp_where, "commute_scores", lambda *_: Statistic(np.zeros((1, dp_where.CANDIDATES)), 1.0))
    monkeypatch.setattr(dp_where, "profile", of_visits)
    assert too_far(CASES["dp_where"], "everywhere") == {"home", "profile"}


@pytest.mark.parametrize(("occurrences", "repeats", "bound"), [(10, 1, math.sqrt(10)), (10, 10, 10), (4, 99, 4)])
def test_capped_sensitivities_by_hand(occurrences, repeats, bound):
    assert capped_sensitivity(occurrences, repeats) == pytest.approx(bound)


def test_capped_counts_by_hand():
    person, code = np.array([0, 0, 0, 0, 1, 1]), np.array([7, 7, 7, 2, 7, 9])
    codes, counts = capped_counts(person, code, 2)
    assert codes.tolist() == [2, 7, 9]
    assert counts.tolist() == [1, 3, 1]


@pytest.mark.parametrize("technique", TECHNIQUES)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_events_sum_to_the_promise(technique, epsilon):
    events = technique.publish(crowd(), technique.parameters(epsilon=epsilon), 0).events
    assert 0.98 * epsilon <= spent(events, 1e-6).epsilon <= epsilon
    assert len({event.query for event in events}) == len(events) >= 4


@pytest.mark.parametrize("technique", TECHNIQUES)
def test_people_are_drawn_from_noisy_values_alone(technique, monkeypatch):
    """A quantity that is read off the data without noise would make these differ."""
    monkeypatch.setattr(MODULES[technique.name], "SimulatedNoise", DeafNoise)
    one, other = (technique.publish(crowd(seed=seed), technique.parameters(), 5) for seed in (0, 1))
    assert np.array_equal(one.density, other.density)
    assert np.array_equal(one.traces.matrix.indices, other.traces.matrix.indices)
    assert one.facts == other.facts


@pytest.mark.parametrize("technique", TECHNIQUES)
def test_nobody_anywhere_is_refused(technique):
    with pytest.raises(BadInput, match="at least one visit"):
        technique.publish(nobody(crowd()), technique.parameters(), 0)


@pytest.mark.parametrize("technique", TECHNIQUES)
@pytest.mark.parametrize("epsilon", [1e-3, 0.3])
def test_noise_far_above_the_counts_still_gives_people(technique, epsilon):
    published = technique.publish(crowd(), technique.parameters(epsilon=epsilon), 1)
    assert np.isfinite(published.density).all()
    assert (published.density >= 0).all()
    assert len(published.traces.users) >= 1


@pytest.fixture(scope="module")
def small_town():
    return town(people=3_000, places=40, seed=4)


@pytest.mark.parametrize(
    ("technique", "parameters", "places", "hours"),
    [
        (DP_WHERE, {}, 0.5, 0.95),  # a model of homes and work places, not of all places
        (MARKOV, {"l_max": 168, "repeats": 168, "threshold": 0}, 0.95, 0.95),
        (N_GRAMS, {"l_max": 40, "repeats": 40, "threshold": 0}, 0.95, 0.95),
    ],
)
def test_with_little_noise_people_are_like_those_they_stand_for(technique, parameters, places, hours, small_town):
    truth = small_town.aggregate().astype(float)
    chosen = technique.parameters(epsilon=1e6, times=5, visits_clamp=1_000, **parameters)
    published = technique.publish(small_town, chosen, 0)
    assert published.density.sum() == pytest.approx(truth.sum(), rel=0.01)
    assert len(published.traces.users) == pytest.approx(5 * 3_000, rel=0.01)
    assert pearson(truth.sum(axis=1)[None, :], published.density.sum(axis=1)[None, :]) > places
    assert pearson(truth.sum(axis=0)[None, :], published.density.sum(axis=0)[None, :]) > hours


def test_blocks_are_whole_hours():
    with pytest.raises(BadInput, match="whole hours"):
        N_GRAMS.publish(crowd(), NGramParameters(blocks=5), 0)
