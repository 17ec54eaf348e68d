"""Both sources of noise: the claimed scale is accepted, 5 % more or less is not; every value has noise of its own."""

from dataclasses import replace
from functools import partial

import goodness
import numpy as np
import pytest
from goodness import (
    GAUSSIAN_SAMPLE,
    LAPLACE_SAMPLE,
    SELECTION_SAMPLE,
    accepted,
    discrete_gaussian,
    finite_rate,
    fits,
    fits_discrete,
    fits_selection,
    gaussian_rate,
    laplace_rate,
    repeats,
    shared,
)
from scipy.stats import chi2, gamma, norm

from density_assets.privacy import noise
from density_assets.privacy.events import Gaussian, Laplace, LaplaceVector, Selection
from density_assets.privacy.noise import BATCH, ROUNDING_IS_FINE, MoreThanCharged, OpenDpNoise, SimulatedNoise

SOURCES = {"opendp": OpenDpNoise, "simulated": lambda: SimulatedNoise(1)}
GAUSSIAN, LAPLACE, VECTOR = Gaussian("q", 50.0, 5.0), Laplace("q", 30.0, 3.0), LaplaceVector("q", 30.0, 3.0)
SIGMAS = (0.4, 2.0, 50.0, 1.5 * ROUNDING_IS_FINE)
# One good column and a hundred worse ones: the scores at which a choice tells most about epsilon.
SELECTION, SCORES = Selection("k", 0.5, 2.0), np.array([0.0] + [44.0] * 100)
OFF = (0.95, 1.05)


def zeros(many: int) -> np.ndarray:
    return np.zeros(many)


def integers(many: int) -> np.ndarray:
    return np.zeros(many, dtype=np.int64)


@pytest.fixture(params=SOURCES.values(), ids=SOURCES)
def source(request):
    return request.param()


# --- the claimed scale ------------------------------------------------------------------------------------------


def test_continuous_noise_has_the_claimed_distribution(source):
    assert fits(source.gaussian(zeros(GAUSSIAN_SAMPLE), GAUSSIAN), GAUSSIAN)
    assert fits(source.laplace(zeros(LAPLACE_SAMPLE), LAPLACE), LAPLACE)
    assert fits(source.laplace(zeros(LAPLACE_SAMPLE), VECTOR), VECTOR)


@pytest.mark.parametrize("sigma", SIGMAS)
def test_integer_noise_has_the_probabilities_of_the_discrete_gaussian(source, sigma):
    event = Gaussian("q", sigma, 1.0)
    assert fits_discrete(source.discrete_gaussian(integers(GAUSSIAN_SAMPLE), event), event)


def test_selection_follows_the_exponential_mechanism(source):
    """Probabilities in proportion to exp(-epsilon u / (2 sensitivity)), row by row, small scores best."""
    chosen = source.select(np.tile(SCORES, (SELECTION_SAMPLE, 1)), SELECTION)
    assert fits_selection(chosen, SCORES, SELECTION)
    mixed = np.array([3.0, 0.0, 9.0, 1.0])
    assert fits_selection(source.select(np.tile(mixed, (2_000, 1)), SELECTION), mixed, SELECTION)


def test_every_row_of_scores_is_chosen_from_by_itself(source):
    scores = np.where(np.eye(50, dtype=bool), 0.0, 1e6)[np.random.default_rng(0).permutation(50)]
    np.testing.assert_array_equal(source.select(scores, SELECTION), scores.argmin(axis=1))


# --- every value has noise of its own -------------------------------------------------------------------------------


def values() -> np.ndarray:
    """A matrix as doors see it: whole rows and single cells without anybody, and large counts."""
    counts = np.random.default_rng(3).integers(0, 5, (50, 100)) * 1_000_000.0
    counts[::5] = 0
    return counts


@pytest.mark.parametrize("event", [GAUSSIAN, LAPLACE], ids=["gaussian", "laplace"])
def test_cells_share_no_noise_and_those_without_people_have_theirs(source, event):
    draw = source.gaussian if isinstance(event, Gaussian) else source.laplace
    first, second = (draw(values(), event) - values() for _ in range(2))
    assert first.shape == values().shape
    for empty in (values() == 0, values() != 0):
        assert fits(first[empty], event)
    assert not repeats(np.concatenate([first, second])[:, :50])
    assert not shared(np.concatenate([first, second]), event)


def test_cells_share_no_integer_noise_and_those_without_people_have_theirs(source):
    event = Gaussian("q", 1e4, 1.0)  # so wide that whole numbers are as good as any
    first, second = (source.discrete_gaussian(values().astype(np.int64), event) - values() for _ in range(2))
    assert first.shape == values().shape
    for empty in (values() == 0, values() != 0):
        assert fits_discrete(first[empty].astype(np.int64), event)
    assert not shared(np.concatenate([first, second]), event)


def test_noise_is_added_to_the_values_in_their_shape_and_type(source):
    counts = np.arange(6).reshape(2, 3) * 1_000_000
    noisy = source.discrete_gaussian(counts, Gaussian("q", 1.0, 1.0))
    assert (noisy.shape, noisy.dtype) == ((2, 3), np.int64)
    np.testing.assert_allclose(noisy, counts, atol=10)
    np.testing.assert_allclose(source.gaussian(counts.astype(float), Gaussian("q", 1.0, 1.0)), counts, atol=10)
    np.testing.assert_allclose(source.laplace(counts.astype(float), Laplace("q", 1.0, 1.0)), counts, atol=40)


def test_values_drawn_in_batches_stay_in_their_places(source):
    counts = np.arange(2 * BATCH + 1) * 1_000
    noise = source.discrete_gaussian(counts, Gaussian("q", 50.0, 1.0)) - counts
    assert fits_discrete(noise, Gaussian("q", 50.0, 1.0))
    assert source.discrete_gaussian(counts[:0], Gaussian("q", 50.0, 1.0)).shape == (0,)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_a_number_gets_no_noise(source, bad):
    for draw, event in ((source.gaussian, GAUSSIAN), (source.laplace, LAPLACE)):
        with pytest.raises(ValueError, match="finite numbers only, got 1 others"):
            draw(np.array([1.0, bad]), event)
    with pytest.raises(ValueError, match="finite numbers only, got 1 others"):
        source.select(np.array([[1.0, bad]]), SELECTION)
    with pytest.raises(ValueError, match="integers only, got float64"):
        source.discrete_gaussian(np.array([1.0]), GAUSSIAN)


def test_a_simulation_says_so_and_can_be_repeated_and_a_release_cannot():
    assert SimulatedNoise(1).simulation
    assert not OpenDpNoise().simulation
    repeated = [SimulatedNoise(7).gaussian(zeros(9), GAUSSIAN) for _ in range(2)]
    np.testing.assert_array_equal(*repeated)
    drawn = []
    for _ in range(2):
        np.random.seed(0)
        drawn.append(OpenDpNoise().gaussian(zeros(9), GAUSSIAN))
    assert not np.isin(*drawn).any()


# --- tests of the tests: how surely a wrong source is noticed ------------------------------------------------------


def test_correct_noise_is_refused_no_more_often_than_stated(monkeypatch):
    """With one alarm in twenty allowed to each question: so rare as they are, alarms could not be counted."""
    monkeypatch.setattr(goodness, "FALSE_ALARM", 0.05)
    source, sigma = SimulatedNoise(5), Gaussian("q", 2.0, 1.0)
    samples = [source.gaussian(np.zeros((20, 50)), GAUSSIAN) for _ in range(400)]
    assert sum(not fits(sample, GAUSSIAN) for sample in samples) < 0.1 * 400  # two questions
    assert 0 < sum(shared(sample, GAUSSIAN) for sample in samples) < 0.1 * 400  # two, of rows and of columns
    assert sum(not fits(source.laplace(zeros(1_000), LAPLACE), LAPLACE) for _ in range(400)) < 0.1 * 400
    assert sum(not fits_discrete(source.discrete_gaussian(integers(1_000), sigma), sigma) for _ in range(400)) < 40
    chosen = [source.select(np.tile(SCORES[:5], (300, 1)), SELECTION) for _ in range(400)]
    assert sum(not fits_selection(one, SCORES[:5], SELECTION) for one in chosen) < 0.1 * 400


@pytest.mark.parametrize("factor", OFF)
def test_a_scale_that_is_off_by_five_percent_is_missed_once_in_a_hundred_thousand(factor):
    """Computed, not drawn: squares of normals are chi-square, absolute values of Laplace noise are exponential."""
    n = GAUSSIAN_SAMPLE
    low, high = (n * mean / factor**2 for mean in accepted(gaussian_rate, n, 0.1, 1, 10))
    assert chi2.cdf(high, n) - chi2.cdf(low, n) < 1e-5
    n = LAPLACE_SAMPLE
    low, high = (n * mean / factor for mean in accepted(laplace_rate, n, 0.1, 1, 10))
    assert gamma.cdf(high, n) - gamma.cdf(low, n) < 1e-5


def missed(statistic: np.ndarray, claimed: np.ndarray, true: np.ndarray, n: int) -> float:
    """How often n values of other probabilities pass, by the central limit theorem."""
    expected = claimed @ statistic
    rate = partial(finite_rate, statistic=statistic, log_chances=np.log(claimed))
    interval = accepted(rate, n, 0.5 * expected, expected, 2 * expected)
    mean, deviation = true @ statistic, np.sqrt((true @ statistic**2 - (true @ statistic) ** 2) / n)
    low, high = ((edge - mean) / deviation for edge in interval)
    return norm.cdf(high) - norm.cdf(low)


@pytest.mark.parametrize("factor", OFF)
@pytest.mark.parametrize("sigma", [0.4, 2.0, 50.0])
def test_so_is_that_of_the_discrete_gaussian(sigma, factor):
    support, claimed = discrete_gaussian(sigma)
    weight = np.exp(-(support**2.0) / (2 * (factor * sigma) ** 2))
    assert missed(support**2.0, claimed, weight / weight.sum(), GAUSSIAN_SAMPLE) < 1e-5


@pytest.mark.parametrize("factor", OFF)
def test_so_is_that_of_a_selection(factor):
    claimed, true = (np.exp(-SCORES / scale) for scale in (8.0, factor * 8.0))  # 2 sensitivity / epsilon
    assert missed(SCORES, claimed / claimed.sum(), true / true.sum(), SELECTION_SAMPLE) < 1e-5


@pytest.mark.parametrize("factor", OFF)
def test_a_source_whose_scale_is_off_by_five_percent_is_noticed(factor):
    source = SimulatedNoise(5)
    gaussian = replace(GAUSSIAN, sigma=factor * GAUSSIAN.sigma)
    assert not fits(source.gaussian(zeros(GAUSSIAN_SAMPLE), gaussian), GAUSSIAN)
    assert not fits_discrete(source.discrete_gaussian(integers(GAUSSIAN_SAMPLE), gaussian), GAUSSIAN)
    assert not fits(source.laplace(zeros(LAPLACE_SAMPLE), replace(LAPLACE, scale=factor * LAPLACE.scale)), LAPLACE)
    other = replace(SELECTION, epsilon=SELECTION.epsilon / factor)
    assert not fits_selection(source.select(np.tile(SCORES, (SELECTION_SAMPLE, 1)), other), SCORES, SELECTION)


def test_another_shape_of_the_same_scale_is_noticed():
    random = np.random.default_rng(5)
    laplace = random.laplace(0, GAUSSIAN.sigma / np.sqrt(2), GAUSSIAN_SAMPLE)
    assert not fits(laplace, GAUSSIAN)
    assert not fits_discrete(np.rint(laplace).astype(np.int64), GAUSSIAN)
    assert not fits(random.normal(0, LAPLACE.scale * np.sqrt(np.pi / 2), LAPLACE_SAMPLE), LAPLACE)
    rounded = np.rint(random.normal(0, 0.4, GAUSSIAN_SAMPLE)).astype(np.int64)
    assert not fits_discrete(rounded, Gaussian("q", 0.4, 1.0))  # why small sigmas are drawn from probabilities
    anything = random.integers(0, 4, SELECTION_SAMPLE)
    assert not fits_selection(anything, np.array([3.0, 0.0, 9.0, 1.0]), SELECTION)


def test_noise_used_twice_is_noticed():
    once = SimulatedNoise(5).gaussian(np.zeros((40, 100)), GAUSSIAN)
    assert not repeats(once)
    assert not shared(once, GAUSSIAN)
    twice = once.copy()
    twice[7] = twice[31]
    assert repeats(twice)
    assert not fits(twice, GAUSSIAN)
    for row in (-once[31], 0.7 * once[31] + 0.7 * once[7], once[31] + 1e-3):
        mixed = once.copy()
        mixed[7] = row
        assert shared(mixed, GAUSSIAN)
    columns = once.copy()
    columns[:, 3] = columns[:, 90]
    assert shared(columns, GAUSSIAN)


def test_cells_that_got_no_noise_are_noticed():
    counts = np.random.default_rng(5).integers(0, 20, GAUSSIAN_SAMPLE)
    source = SimulatedNoise(5)
    noise = np.where(counts == 0, 0.0, source.gaussian(zeros(GAUSSIAN_SAMPLE), GAUSSIAN))
    assert not fits(noise, GAUSSIAN)
    assert not fits(noise[counts == 0], GAUSSIAN)
    assert not fits_discrete(noise[counts == 0].astype(np.int64), GAUSSIAN)


# --- what OpenDP says of its own measurements ------------------------------------------------------------------------

SCALES = np.geomspace(0.3, 3e7, 25).tolist()  # with their roundings


def every_draw(scale, sensitivity):
    """Each method of the noise, as functions that draw a little."""
    source, one = OpenDpNoise(), np.zeros(1)
    gaussian = Gaussian("q", scale, sensitivity)
    return {
        "make_gaussian": [
            lambda: source.gaussian(one, gaussian),
            lambda: source.discrete_gaussian(one.astype(np.int64), gaussian),
        ],
        "make_laplace": [
            lambda: source.laplace(one, Laplace("q", scale, sensitivity)),
            lambda: source.laplace(one, LaplaceVector("q", scale, sensitivity)),
        ],
        "make_noisy_max": [lambda: source.select(one[None, :], Selection("q", 2 * sensitivity / scale, sensitivity))],
    }


@pytest.mark.parametrize("sensitivity", [1.0, 1 / 3, 30**0.5 * (1 + 1e-6), 732.0])
def test_opendp_agrees_with_what_is_charged(sensitivity):
    for scale in SCALES:
        for draws in every_draw(scale, sensitivity).values():
            for draw in draws:
                draw()


@pytest.mark.parametrize("maker", ["make_gaussian", "make_laplace", "make_noisy_max"])
def test_a_measurement_that_costs_more_than_is_charged_is_never_drawn_from(maker, monkeypatch):
    """A thousandth less noise than the event says is enough to be refused."""
    real, drawn = getattr(noise, maker), []

    def too_little(*arguments, scale, **others):
        return real(*arguments, scale=scale * 0.999, **others)

    monkeypatch.setattr(noise, maker, too_little)
    monkeypatch.setattr(noise.Measurement, "__call__", lambda self, values: drawn.append(values))
    for draw in every_draw(50.0, 5.0)[maker]:
        with pytest.raises(MoreThanCharged, match=r"'q' must cost at most .* Nothing was drawn"):
            draw()
    assert not drawn
