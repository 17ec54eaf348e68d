"""The attack on a generated city: what was found on real ones holds."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.decomposition import PCA

from density_assets.errors import BadInput
from density_assets.research.membership.attack import (
    ATTACKS,
    attack_auc,
    averaged_statistics,
    pooled_statistics,
    principal_components,
    privacy_gain,
    privacy_loss,
    statistics,
)
from density_assets.research.membership.defenses import DEFENSES, Groups
from density_assets.research.membership.exposure import characteristics, coefficients, extremes, importances, unicity
from density_assets.research.membership.people import choose_victims, mobility_groups, past_groups, subset_of_locations
from density_assets.research.traces.commuters import commuters
from density_assets.research.traces.matrix import Traces, binary
from density_assets.research.traces.recipe import Recipe

RECIPE = Recipe(small_epsilon=1.0, small_count=5, fourier_coefficients=20)


@pytest.fixture(scope="module")
def city():
    return commuters(160, 1, seed=8, rows=6, columns=6)


def score(city, victim, how="pca", defense="none", value=0.0):
    rng = np.random.default_rng(victim)
    game = subset_of_locations(len(city.users), victim, share=0.5, size=50, samples=150, rng=rng)
    seen = [
        DEFENSES[defense].release(Groups(city, part.members), value, RECIPE, rng)
        for part in (game.training, game.challenge)
    ]
    return attack_auc(seen[0], game.training.holds, seen[1], game.challenge.holds, how)


def mean(city, victims, **how):
    return float(np.mean([score(city, int(victim), **how) for victim in victims]))


@pytest.fixture(scope="module")
def victims(city):
    return choose_victims(city, seed=1, per_group=6)


def test_components_tell_more_than_statistics(city, victims):
    some = victims[:, :3].ravel()
    assert mean(city, some) > mean(city, some, how="features") + 0.05


def test_who_moves_more_is_more_exposed(city, victims):
    barely, _, highly = (mean(city, group, how="features") for group in victims)
    assert highly > barely + 0.1


def test_generalisation_protects_little_and_noise_most(city, victims):
    some = victims[:, :2].ravel()
    raw = mean(city, some)
    assert raw > 0.9
    assert mean(city, some, defense="SPG", value=2) > raw - 0.1
    assert mean(city, some, defense="TG", value=24) > raw - 0.1
    sampled = mean(city, some, defense="SMP", value=0.8)
    assert sampled < raw - 0.1
    assert mean(city, some, defense="FPA", value=0.1) < sampled
    assert mean(city, some, defense="DGFR", value=250) == 0.5  # one range for all: nothing varies


def test_components_are_those_of_scikit_learn(city):
    rng = np.random.default_rng(0)
    members = csr_array((rng.random((30, 160)) < 0.5).astype(np.int32))
    rows = Groups(city, members).counts.reshape(30, -1)
    ours, theirs = principal_components(rows, 5), PCA(5, svd_solver="full").fit(rows)
    assert ours.variance == pytest.approx(theirs.explained_variance_, rel=1e-3)
    assert np.abs(ours.of(rows)) == pytest.approx(np.abs(theirs.transform(rows)), rel=1e-2, abs=0.05)
    assert len(principal_components(np.ones((4, 6), np.float32)).variance) == 0


def test_statistics_of_a_series():
    found = statistics(np.array([[[1.0, 2.0, 6.0]]]))
    assert found[0] == pytest.approx([3, 2, 6, 1, 14 / 3, np.sqrt(14 / 3), 9])


def test_readings_that_know_no_place():
    counts = np.array([[[1.0, 2.0, 6.0], [0.0, 0.0, 3.0]]])
    swapped, deviation = counts[:, ::-1], (np.sqrt(14 / 3) + np.sqrt(2)) / 2
    assert averaged_statistics(counts)[0] == pytest.approx([2, 1, 4.5, 0.5, 10 / 3, deviation, 6])
    assert pooled_statistics(counts)[0] == pytest.approx([2, 1.5, 6, 0, 13 / 3, np.sqrt(13 / 3), 12])
    for reading in (averaged_statistics, pooled_statistics):
        assert np.array_equal(reading(counts), reading(swapped))


@pytest.fixture(scope="module")
def fleet():
    """People as busy as cabs; groups are nearly all who are known, as 100 of 107 cabs were."""
    return commuters(60, 1, seed=8, rows=6, columns=6, free_trips=250, spread=0.25)


def test_among_cabs_places_tell_all_that_components_do_and_only_without_them_is_there_a_gain(fleet):
    """Published are 46 % for San Francisco; sums of 36 places have all but one of 30 people in them."""
    found = {how: [] for how in ATTACKS}
    for victim in (3, 30, 57):
        rng = np.random.default_rng(victim)
        game = subset_of_locations(60, victim, share=0.5, size=28, samples=400, rng=rng)
        seen = [Groups(fleet, part.members).counts for part in (game.training, game.challenge)]
        for how in ATTACKS:
            found[how].append(attack_auc(seen[0], game.training.holds, seen[1], game.challenge.holds, how))
    auc = {how: float(np.mean(scores)) for how, scores in found.items()}
    assert auc["pca"] > 0.99
    for how in ("features", "features_unscaled", "features_regularised", "features_forest"):
        assert auc["pca"] / auc[how] - 1 < 0.05, how
    for how in ("features_averaged", "features_pooled"):
        assert auc["pca"] / auc[how] - 1 > 0.2, how


@pytest.mark.parametrize(
    ("undefended", "defended", "gain"),
    [
        (0.9, 0.7, 0.5),
        (0.9, 0.5, 1.0),
        (0.9, 0.3, 1.0),
        (0.9, 0.9, 0.0),
        (0.8, 0.95, 0.0),
        (0.5, 0.4, 0.0),
        (0.4, 0.3, 0.0),
    ],
)
def test_privacy_gain(undefended, defended, gain):
    assert privacy_gain(undefended, defended) == pytest.approx(gain)
    assert privacy_loss(0.9) == pytest.approx(0.4)


def test_the_subset_prior_draws_groups_of_one_size_from_those_known():
    game = subset_of_locations(50, 7, share=0.4, size=10, samples=40, rng=np.random.default_rng(0))
    parts = (game.training, game.challenge)
    assert [len(part.holds) for part in parts] == [32, 8]
    members = np.concatenate([part.members.toarray() for part in parts])
    assert (members.sum(axis=1) == 10).all()
    assert np.array_equal(members[:, 7] == 1, np.concatenate([part.holds for part in parts]))
    assert (members.sum(axis=0) > 0).sum() == 20
    assert sum(part.holds.sum() for part in parts) == 20


def test_past_groups_are_seen_before_the_last_week_and_challenged_in_it():
    same, other = (
        past_groups(30, 2, weeks=3, size=9, groups=12, same=same, rng=np.random.default_rng(0))
        for same in (True, False)
    )
    assert same.training.weeks == (0, 1)
    assert same.challenge.weeks == (2,)
    assert np.array_equal(same.training.members.toarray(), same.challenge.members.toarray())
    assert not np.array_equal(other.training.members.toarray(), other.challenge.members.toarray())
    assert (other.challenge.members.sum(axis=1) == 9).all()
    with pytest.raises(BadInput, match="two weeks"):
        past_groups(30, 2, weeks=1, size=9, groups=12, same=True, rng=np.random.default_rng(0))


def test_victims_come_from_three_equal_groups(city):
    low, middle, high = mobility_groups(city)
    points = np.diff(city.matrix.indptr)
    assert points[low].max() <= points[middle].min() <= points[middle].max() <= points[high].min()
    victims = choose_victims(city, seed=3)
    assert victims.shape == (3, 50)
    assert len(np.unique(victims)) == 150


@pytest.fixture
def pair() -> Traces:
    """ann: ROIs 0 and 1 in hour 8, ROI 0 in hour 9 and on Saturday. bob: ROI 0 in hour 9."""
    points = np.array([(0, 0, 8), (0, 1, 8), (0, 0, 9), (0, 0, 130), (1, 0, 9)])
    matrix = binary(points[:, 0], points[:, 1] * 168 + points[:, 2], (2, 336))
    return Traces(matrix, np.array(["ann", "bob"]), 168, np.zeros((2, 2)))


def test_counts_and_means(pair):
    found = characteristics(pair)
    ann = {name: values[0] for name, values in found.items()}
    assert ann["total events"] == 4
    assert ann["unique locations"] == 2
    assert ann["active slots"] == 3
    assert ann["locations per slot"] == pytest.approx(4 / 3)
    assert ann["active slots/weekday"] == pytest.approx(2 / 5)
    assert ann["events/weekday"] == pytest.approx(3 / 5)
    assert ann["events/weekend"] == ann["active slots/weekend"] == pytest.approx(1 / 2)


def test_entropies(pair):
    found = characteristics(pair)
    assert found["spatial entropy"] == pytest.approx([-(0.75 * np.log(0.75) + 0.25 * np.log(0.25)), 0])
    assert found["temporal entropy"] == pytest.approx([-(0.5 * np.log(0.5) + 0.5 * np.log(0.25)), 0])


def test_unicity_is_the_share_of_slots_spent_unlike_anybody(pair):
    assert unicity(pair) == pytest.approx([2 / 168, 0])  # in hour 9 both are in ROI 0


def test_what_separates_the_exposed_is_found():
    rng = np.random.default_rng(0)
    score = np.linspace(0.5, 1.0, 100)
    table = {"volume": 10 * score + rng.normal(0, 0.2, 100), "noise": rng.normal(0, 1, 100)}
    top, bottom = extremes(score)
    assert top.min() == 90
    assert bottom.max() == 9
    found = importances(table, score)
    assert found["volume"] > 3 * found["noise"]
    assert coefficients(table, score)["volume"] < -0.5
