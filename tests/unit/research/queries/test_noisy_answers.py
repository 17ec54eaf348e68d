"""Noisy answers cost what they promise, have the noise they say, and repeat with their seed."""

import numpy as np
import pytest
from scipy.sparse import vstack
from small_crowd import counts, kept

from density_assets.errors import BadInput
from density_assets.privacy.composition import spent
from density_assets.privacy.events import Gaussian
from density_assets.research.queries.noisy_answers import (
    NOISY_ANSWERS,
    NoisyAnswersParameters,
    answer,
    answer_events,
    nearest_counts,
)
from density_assets.research.queries.workload import every_place_and_hour, partition, workload_sensitivity
from density_assets.research.traces.commuters import commuters

CHOSEN = NoisyAnswersParameters(epsilon=2.0, delta=1e-6, visits=8)


@pytest.fixture(scope="module")
def people():
    return commuters(200, 1, seed=1, rows=3, columns=3)


@pytest.mark.parametrize(("epsilon", "sensitivity"), [(0.1, 3.0), (1.0, 30.0), (5.0, 1.0)])
def test_events_sum_to_the_promise(epsilon, sensitivity):
    events = answer_events(NoisyAnswersParameters(epsilon=epsilon, delta=1e-6), sensitivity)
    assert 0.99 * epsilon < spent(events, 1e-6).epsilon < epsilon
    assert events[0].sensitivity == sensitivity
    assert [event.sensitivity for event in events[1:]] == [100, 10]  # clamp and l
    assert events[1].rho + events[2].rho == pytest.approx(0.05 * sum(event.rho for event in events))


def test_noise_for_records_would_cost_users_more_than_promised(people):
    # The planted bug: a proof for records moves each cell-hour by 1, as if a user had one visit.
    for_records, *on_totals = answer_events(CHOSEN, 1.0)
    true_sensitivity = workload_sensitivity(every_place_and_hour(9, people.hours), people.hours, CHOSEN.visits)
    as_it_is = Gaussian("answers", for_records.sigma, true_sensitivity)
    assert spent([as_it_is, *on_totals], CHOSEN.delta).epsilon > 2 * CHOSEN.epsilon


def test_answers_are_truncated_counts_with_noise_of_the_stated_size(people):
    workload = every_place_and_hour(people.rois, people.hours)
    answers = answer(people, workload, CHOSEN, seed=5)
    errors = answers.values - counts(kept(people, CHOSEN.visits, 5))
    assert errors.std() == pytest.approx(answers.sigma, rel=0.06)  # 1,512 draws: 3 standard errors
    assert abs(errors.mean()) < 4 * answers.sigma / np.sqrt(errors.size)
    assert answers.sigma == answers.events[0].sigma


def test_estimates_are_for_all_visits(people):
    whole = partition(np.zeros(people.rois, np.int64), np.zeros(people.hours, np.int64))
    plenty = NoisyAnswersParameters(epsilon=500.0, delta=1e-6, visits=5, clamp=400)
    answers = answer(people, whole, plenty, seed=1)
    assert answers.values[0] == pytest.approx(kept(people, 5, 1).matrix.sum(), rel=0.05)
    assert answers.estimates[0] == pytest.approx(people.matrix.sum(), rel=0.1)


def test_overlapping_queries_get_more_noise(people):
    cells = every_place_and_hour(people.rois, people.hours)
    weeks = partition(np.arange(people.rois), np.zeros(people.hours, np.int64))
    alone = answer(people, cells, CHOSEN, seed=0)
    together = answer(people, vstack([cells, weeks]).tocsr(), CHOSEN, seed=0)
    # sqrt(l) for cells; with weeks of places, the l visits of one place move one more answer by l: sqrt(l + l²).
    assert together.sigma / alone.sigma == pytest.approx(np.sqrt(8 + 64) / np.sqrt(8), rel=1e-3)


def test_nothing_but_noisy_values_leaves_the_data(people, monkeypatch):
    class BlindNoise:
        def __init__(self, seed):
            pass

        def gaussian(self, values, event):
            return np.full(values.shape, 50.0)

    monkeypatch.setattr("density_assets.research.queries.noisy_answers.SimulatedNoise", BlindNoise)
    other = commuters(90, 1, seed=9, rows=3, columns=3)
    assert np.array_equal(*(NOISY_ANSWERS.publish(traces, CHOSEN, 1).density for traces in (people, other)))


def test_a_density_is_published_with_its_events(people):
    published = NOISY_ANSWERS.publish(people, CHOSEN, 7)
    assert published.density.shape == (people.rois, people.hours)
    assert (published.density >= 0).all()
    assert 0.99 * 2.0 < spent(published.events, 1e-6).epsilon < 2.0
    assert np.array_equal(published.density, NOISY_ANSWERS.publish(people, CHOSEN, 7).density)
    assert not np.array_equal(published.density, NOISY_ANSWERS.publish(people, CHOSEN, 8).density)


def test_much_budget_gives_the_density_back():
    people = commuters(2000, 1, seed=2, rows=3, columns=3)
    plenty = NoisyAnswersParameters(epsilon=500.0, delta=1e-6, visits=200, clamp=400)
    density = NOISY_ANSWERS.publish(people, plenty, 1).density
    true = people.aggregate()
    assert np.corrcoef(density.ravel(), true.ravel())[0, 1] > 0.98  # one place per hour is kept, whatever the budget
    assert density.sum() == pytest.approx(true.sum(), rel=0.01)


def test_queries_about_other_places_are_refused(people):
    with pytest.raises(BadInput, match="places and hours of the traces, got 4 columns"):
        answer(people, every_place_and_hour(1, 4), CHOSEN, seed=0)


def test_nearest_counts_are_not_negative_and_add_up_to_the_total():
    noisy = np.array([5.0, -2.0, 1.0, 0.5])
    assert nearest_counts(noisy, 4.5).tolist() == [4.25, 0.0, 0.25, 0.0]
    others = np.random.default_rng(0).dirichlet(np.ones(4), 2000) * 4.5
    distance = ((nearest_counts(noisy, 4.5) - noisy) ** 2).sum()
    assert ((others - noisy) ** 2).sum(axis=1).min() >= distance
    assert nearest_counts(np.array([-3.0, -4.0]), -7.0).tolist() == [1.0, 0.0]
