"""MWEM costs what it promises, follows its rule, and comes closer to the truth than where it started."""

import numpy as np
import pytest
from small_crowd import counts, kept

from density_assets.errors import BadInput
from density_assets.privacy.composition import spent
from density_assets.privacy.events import Gaussian, Selection
from density_assets.research.queries.mwem import (
    MWEM,
    Block,
    Measured,
    MwemParameters,
    bend_density,
    blocks,
    error_sum,
    flat_start,
    mwem,
    mwem_events,
    mwem_plan,
)
from density_assets.research.queries.workload import partition
from density_assets.research.traces.commuters import commuters

CHOSEN = MwemParameters(epsilon=2.0, delta=1e-6, visits=8, rounds=4, output="average")


@pytest.fixture(scope="module")
def people():
    return commuters(400, 1, seed=1, rows=4, columns=4)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("rounds", [1, 7])
def test_events_sum_to_the_promise(people, epsilon, rounds):
    chosen = MwemParameters(epsilon=epsilon, delta=1e-6, rounds=rounds)
    plan, workload = mwem_plan(chosen), blocks(people.positions, people.hours, chosen.visits)
    events = mwem_events(plan, [workload[number % len(workload)] for number in range(rounds)])
    assert len(events) == 2 + 2 * rounds
    assert 0.99 * epsilon < spent(events, 1e-6).epsilon < epsilon
    every_round = [event.rho for event in events[2:]]
    assert every_round[::2] == pytest.approx([plan.draw.rho] * rounds)
    assert every_round[1::2] == pytest.approx([plan.measure.rho] * rounds)


def test_what_is_published_was_charged(people):
    published = MWEM.publish(people, CHOSEN, 3)
    kinds = [type(event) for event in published.events]
    assert kinds == [Gaussian, Gaussian, *[Selection, Gaussian] * 4]
    assert spent(published.events, 1e-6).epsilon < 2.0
    assert published.facts["blocks"].split(", ") == [event.query for event in published.events[3::2]]


class BlindNoise:
    """Returns the same whatever the data are, and keeps what it was given."""

    def __init__(self):
        self.given, self.draws = [], 0

    def gaussian(self, values, event):
        self.given.append((event.query, float(values.sum())))
        return np.full(values.shape, 50.0)

    def select(self, scores, event):
        self.draws += 1
        return np.array([self.draws % scores.shape[1]])


def test_nothing_but_noisy_values_leaves_the_data(people, monkeypatch):
    def blindly(traces):
        noise = BlindNoise()
        monkeypatch.setattr("density_assets.research.queries.mwem.SimulatedNoise", lambda seed: noise)
        return noise, mwem(traces, CHOSEN, 1)

    noise, published = blindly(people)
    assert noise.draws == 4
    assert [query for query, _ in noise.given] == [one.query for one in published.events if isinstance(one, Gaussian)]
    clamped, left, *in_blocks = (total for _, total in noise.given)
    assert clamped <= 400 * 100
    assert left == kept(people, 8, 1).matrix.sum() <= 400 * 8
    assert in_blocks == [left] * 4  # blocks are of truncated visits
    _, other = blindly(commuters(300, 1, seed=8, rows=4, columns=4))
    assert np.array_equal(published.density, other.density)


def neighbours(traces):
    everybody = np.arange(len(traces.users))
    return [counts(traces.rows(everybody != user)) for user in everybody[:60]]


def test_one_user_moves_every_score_by_at_most_l_if_truncated(people):
    workload, start = blocks(people.positions, people.hours, 8), flat_start(people.rois, people.hours).ravel()

    def largest_change(traces):
        everybody = counts(traces)
        return max(
            abs(error_sum(block, everybody, start) - error_sum(block, without, start))
            for without in neighbours(traces)
            for block in workload
        )

    assert 4 < largest_change(kept(people, 8, 2)) <= 8
    assert largest_change(people) > 8  # the planted bug: nothing is truncated


def test_one_user_moves_every_block_by_at_most_its_sensitivity(people):
    truncated = kept(people, 8, 2)
    for block in blocks(people.positions, people.hours, 8):
        moved = [np.linalg.norm(block.rows @ (counts(truncated) - without)) for without in neighbours(truncated)]
        assert 0 < max(moved) <= block.sensitivity
        untruncated = [np.linalg.norm(block.rows @ (counts(people) - without)) for without in neighbours(people)]
        assert max(untruncated) > block.sensitivity


def test_blocks_are_disjoint_and_cover_everything(people):
    for block in blocks(people.positions, people.hours, 8):
        assert np.array_equal(block.rows.sum(axis=0), np.ones(people.rois * people.hours))


def test_weights_are_bent_by_the_published_rule():
    block = Block("halves", partition(np.array([0, 1]), np.zeros(2, np.int64)), 1.0)
    density = np.array([1.0, 1.0, 3.0, 5.0])
    result = bend_density(density, Measured(block, np.array([6.0, 4.0]), 1.0), 10.0, "published")
    by_hand = density * np.exp([4 / 20, 4 / 20, -4 / 20, -4 / 20])
    assert np.allclose(result, by_hand / by_hand.sum() * 10)
    assert result.sum() == pytest.approx(10)


@pytest.mark.parametrize("step", ["published", "own mass"])
def test_replays_converge_to_exact_measurements(step):
    block = Block("halves", partition(np.array([0, 1]), np.zeros(2, np.int64)), 1.0)
    density = np.array([1.0, 1.0, 3.0, 5.0])
    for _ in range(100):
        density = bend_density(density, Measured(block, np.array([6.0, 4.0]), 1.0), 10.0, step)
    assert density == pytest.approx([3, 3, 1.5, 2.5], rel=1e-3)


def test_it_comes_closer_to_the_truth_than_its_start(people):
    true = people.aggregate()
    start = flat_start(people.rois, people.hours)
    start *= true.sum() / start.sum()
    error, start_error = (np.abs(one - true).sum() for one in (mwem(people, CHOSEN, 1).density, start))
    assert error < 0.9 * start_error


def test_the_average_is_that_of_all_rounds(people):
    once = mwem(people, CHOSEN.model_copy(update={"rounds": 1}), 5)
    last = mwem(people, CHOSEN.model_copy(update={"rounds": 1, "output": "last"}), 5)
    assert np.allclose(once.density, last.density)
    last_of_four = mwem(people, CHOSEN.model_copy(update={"output": "last"}), 5)
    assert not np.allclose(mwem(people, CHOSEN, 5).density, last_of_four.density)


def test_a_public_start_is_kept_where_it_is_empty(people):
    start = np.ones((people.rois, people.hours))
    start[2] = 0
    assert (mwem(people, CHOSEN, 1, start).density[2] == 0).all()


@pytest.mark.parametrize("start", [np.ones((2, 2)), -np.ones((16, 168)), np.zeros((16, 168))])
def test_unusable_starts_are_refused(people, start):
    with pytest.raises(BadInput, match="a start must"):
        mwem(people, CHOSEN, 1, start)
