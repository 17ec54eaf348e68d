"""Each defense on counts and traces that can be worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from density_assets.research.contributions import bound_week
from density_assets.research.membership.defenses import (
    DEFENSES,
    Groups,
    adaptive_ranges,
    fixed_ranges,
    grid_labels,
    merged_places,
    merged_slots,
    neighbour_labels,
    perturb_fourier,
    perturb_small,
    sample_points,
    suppress_small,
    suppress_unpopular,
    thin,
)
from density_assets.research.membership.releases import release_groups, roi_places
from density_assets.research.traces.commuters import commuters
from density_assets.research.traces.matrix import Traces, binary
from density_assets.research.traces.recipe import Recipe
from density_assets.settings import PrivacySettings, SchemeSettings, Settings


def traces(*points: tuple[int, int, int], users: int = 2, rois: int = 4, hours: int = 4) -> Traces:
    user, roi, hour = np.array(points).T
    matrix = binary(user, roi * hours + hour, (users, rois * hours))
    positions = np.array([(x, y) for y in range(rois // 2) for x in range(2)], dtype=float)
    return Traces(matrix, np.arange(users), hours, positions, (rois // 2, 2))


def everybody(found: Traces) -> Groups:
    return Groups(found, csr_array(np.ones((1, len(found.users)), dtype=np.int32)))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_merged_places_and_slots_count_people_not_points():
    # user 0 is in ROIs 0 and 1 in hour 0, user 1 in ROI 1 in hours 0 and 1
    found = traces((0, 0, 0), (0, 1, 0), (1, 1, 0), (1, 1, 1))
    assert merged_places(found, np.array([0, 0, 1, 1])).aggregate().tolist() == [[2, 1, 0, 0], [0, 0, 0, 0]]
    assert merged_slots(found, 2).aggregate()[:2].tolist() == [[1, 0], [2, 0]]
    assert merged_slots(found, 3).aggregate().shape == (4, 2)


def test_generalised_series_are_spread_back():
    groups = everybody(traces((0, 0, 0), (0, 1, 0), (1, 1, 0), (1, 1, 1)))
    spread = DEFENSES["SPG"].release(groups, 1, Recipe(), rng())
    assert spread[0].tolist() == [[2, 1, 0, 0]] * 4
    slots = DEFENSES["TG"].release(groups, 3, Recipe(), rng())
    assert slots[0, 1].tolist() == [2, 2, 2, 0]


def test_labels_of_coarse_grids_and_of_neighbours():
    assert grid_labels(4, 4, 2).reshape(4, 4).tolist() == [[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 3, 3], [2, 2, 3, 3]]
    line = np.array([[0, 0], [9, 0], [1, 0], [8, 0], [2, 0]], dtype=float)
    assert neighbour_labels(line, 2).tolist() == [0, 1, 0, 1, 2]


def test_fixed_ranges_give_the_middle_rounded_down():
    counts = np.array([0, 1, 4, 5, 9, 10])
    assert fixed_ranges(counts, 5).tolist() == [2, 2, 2, 7, 7, 12]
    assert fixed_ranges(counts, 2).tolist() == [1, 1, 5, 5, 9, 11]
    assert fixed_ranges(np.arange(250), 250).tolist() == [125] * 250


def test_adaptive_ranges_lie_between_the_extremes_of_each_series():
    counts = np.array([[0, 3, 4, 8], [0, 1, 0, 1], [5, 5, 5, 5]])
    assert adaptive_ranges(counts, 2).tolist() == [[2, 2, 6, 10], [0, 1, 0, 1], [5, 5, 5, 5]]
    assert adaptive_ranges(counts, 1)[0].tolist() == [4, 4, 4, 12]
    assert np.array_equal(adaptive_ranges(counts, 16), counts)


def test_small_counts_are_suppressed_below_the_threshold():
    assert suppress_small(np.array([0, 1, 2, 3]), 2).tolist() == [0, 0, 2, 3]


def test_only_unpopular_places_in_unpopular_slots_are_suppressed():
    counts = np.array([[9, 5], [4, 3]])
    assert suppress_unpopular(counts, 0.5).tolist() == [[9, 5], [4, 0]]
    swapped = counts[::-1, ::-1]  # each aggregate is judged by its own sums
    assert suppress_unpopular(np.stack([counts, swapped]), 0.5)[1].tolist() == [[0, 4], [5, 9]]


def test_sampling_leaves_the_share_of_each_user():
    found = commuters(30, 1, seed=1)
    before, after = np.diff(found.matrix.indptr), np.diff(sample_points(found, 0.4, rng()).matrix.indptr)
    assert np.array_equal(after, before - np.rint(0.4 * before))
    assert (sample_points(found, 0.4, rng()).matrix > found.matrix).nnz == 0


def test_thinning_keeps_the_share_on_average_and_no_more_than_there_was():
    counts = np.full((50, 10, 20), 7.0, dtype=np.float32)
    thinned = thin(counts, 0.25, rng())
    assert thinned.max() <= 7
    # 10,000 binomials of variance 7 · 0.75 · 0.25: five standard errors of their mean are 0.06
    assert thinned.mean() == pytest.approx(5.25, abs=0.06)
    assert thinned.var() == pytest.approx(7 * 0.75 * 0.25, rel=0.1)


def test_noise_on_small_counts_only_and_never_below_zero():
    counts = np.zeros((100, 100))
    counts[0] = 5
    noisy = perturb_small(counts, 5, 0.1, rng())
    assert (noisy[0] == 5).all()
    assert noisy.min() == 0
    # half of Lap(10) is cut off, the other half has mean 10; standard error 0.09
    assert noisy[1:].mean() == pytest.approx(5, abs=0.5)


def test_fourier_noise_has_the_scale_it_is_given_and_low_frequencies_survive():
    hours = np.arange(168)
    wave = 50 + 20 * np.cos(2 * np.pi * 7 * hours / 168)
    fast = wave + 10 * np.cos(2 * np.pi * 60 * hours / 168)
    assert perturb_fourier(fast, 1e9, 1.0, 12, 250, rng()) == pytest.approx(wave, abs=1e-3)
    flat = np.full((400, 168), 5_000.0)
    noisy = perturb_fourier(flat, 1.0, 30.0, 12, 1e9, rng())
    # (N_0 + 2 Σ_1..11 N_k e^iωt) / 168, N of variance 2 · 12 · 30² in each part
    expected = np.sqrt(2 * 12 * 30**2 * (1 + 4 * 11)) / 168
    assert noisy.std() == pytest.approx(expected, rel=0.05)
    assert perturb_fourier(flat[:2], 1e-9, 30.0, 12, 100, rng()).max() <= 100


def test_combinations_are_sampling_and_then_noise():
    groups = everybody(commuters(60, 1, seed=2))
    recipe = Recipe(small_epsilon=1e9, small_count=5)
    sampled = DEFENSES["SMP"].release(groups, 0.5, recipe, rng(3))
    assert DEFENSES["SPSC"].release(groups, 0.5, recipe, rng(3)) == pytest.approx(sampled, abs=1e-6)
    assert DEFENSES["SFPA"].release(groups, 0.8, recipe, rng()).sum() < groups.counts.sum()


@pytest.mark.parametrize(("name", "value", "epsilon", "share"), [("FPA", 0.1, 0.1, 1.0), ("SFPA", 0.75, 10.0, 0.25)])
@pytest.mark.parametrize("norm", [None, 40.0])
def test_the_norm_of_fourier_noise_is_a_setting_and_the_busiest_week_by_default(name, value, epsilon, share, norm):
    groups = everybody(commuters(60, 1, seed=2))
    busiest_week = np.sqrt(np.diff(groups.traces.matrix.indptr).max())
    scale = (norm or busiest_week) * np.sqrt(share)  # sampling a quarter of the points halves the norm
    draws = rng(7)
    counts = groups.counts if name == "FPA" else DEFENSES["SMP"].release(groups, value, Recipe(), draws)
    expected = perturb_fourier(counts, epsilon, scale, 12, 60, draws)
    assert DEFENSES[name].release(groups, value, Recipe(fourier_norm=norm), rng(7)) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("name", list(DEFENSES))
@pytest.mark.parametrize("kind", ["gps", "taps", "visits"])
def test_every_defense_releases_every_parameter_in_the_original_shape(name, kind):
    found = commuters(20, 1, seed=4)
    found = found if kind == "gps" else replace(found, grid=None)
    groups = Groups(found, csr_array(np.ones((2, 20), dtype=np.int32)))
    for value in DEFENSES[name].parameters(kind):
        released = DEFENSES[name].release(groups, value, Recipe(), rng())
        assert released.shape == (2, 100, 168)
        assert released.min() >= 0
        assert DEFENSES[name].label(value, kind)


def settings(scheme: str, epsilon: float) -> Settings:
    privacy = PrivacySettings().model_copy(update={"epsilon": epsilon})  # also one that no file may ask for
    return Settings(privacy=privacy, scheme=SchemeSettings(name=scheme))


@pytest.fixture(scope="module")
def week():
    return commuters(80, 1, seed=1, rows=4, columns=4)


@pytest.mark.parametrize("name", ["gpa", "fpa", "efpa", "efpag", "efpag_iris"])
def test_schemes_release_the_groups(week, name):
    groups = Groups(week, csr_array(np.ones((2, 80), dtype=np.int32)))
    chosen = settings(name, 1.0)
    parts = bound_week(week, chosen, np.random.default_rng(0))
    drawn = release_groups(groups, parts, roi_places(week), chosen, seed=1)
    assert drawn.series.shape == drawn.estimates.shape == (2, 16, 168)
    assert drawn.estimates.min() >= 0
    assert not np.array_equal(drawn.series[0], drawn.series[1])


def test_the_doors_of_lowrank_add_up_what_is_weighted(week):
    chosen = settings("lowrank", 5_000.0)
    parts = bound_week(week, chosen, np.random.default_rng(0))
    groups = Groups(week, csr_array(np.eye(1, 80, dtype=np.int32)))
    drawn = release_groups(groups, parts, roi_places(week), chosen, seed=1, estimate=False)
    alone = parts.weighted[[0]].toarray().reshape(16, 168) / 2**16
    assert drawn.series[0] == pytest.approx(alone, abs=0.5)
    assert len(drawn.estimates) == 0
