"""Both sources of noise: the claimed scale is accepted, 20 % more or less is not."""

from dataclasses import replace

import numpy as np
import pytest
from goodness import fits, repeats
from scipy.stats import binomtest, chisquare

from density_assets.privacy.events import Gaussian, Laplace, Selection
from density_assets.privacy.noise import OpenDpNoise, SimulatedNoise

SOURCES = [OpenDpNoise, lambda: SimulatedNoise(1)]
GAUSSIAN, LAPLACE = Gaussian("q", 50.0, 5.0), Laplace("q", 30.0, 3.0)
ZEROS = np.zeros(20_000)
INTEGERS = np.zeros(20_000, dtype=np.int64)


def draws(source):
    yield GAUSSIAN, source.gaussian(ZEROS, GAUSSIAN)
    yield LAPLACE, source.laplace(ZEROS, LAPLACE)
    # uniform noise of one unit makes integers continuous without changing a sigma of 50 visibly
    yield GAUSSIAN, source.discrete_gaussian(INTEGERS, GAUSSIAN) + np.random.default_rng(2).uniform(-0.5, 0.5, 20_000)


@pytest.mark.parametrize("source", SOURCES, ids=["opendp", "simulated"])
def test_noise_has_the_claimed_scale_and_not_another(source):
    for event, sample in draws(source()):
        assert fits(sample, event)
        for factor in (0.8, 1.2):
            scale = "sigma" if isinstance(event, Gaussian) else "scale"
            assert not fits(sample, replace(event, **{scale: getattr(event, scale) * factor}))


@pytest.mark.parametrize("source", SOURCES, ids=["opendp", "simulated"])
@pytest.mark.parametrize("sigma", [0.4, 2.0])
def test_the_discrete_gaussian_has_its_probabilities(source, sigma):
    sample = source().discrete_gaussian(INTEGERS, Gaussian("q", sigma, 1.0))
    support = np.arange(-30, 31)
    weight = np.exp(-(support**2) / (2 * sigma**2))
    expected = weight / weight.sum() * len(sample)
    seen = np.array([(sample == value).sum() for value in support])
    enough = expected > 10  # the test by chi-square needs full bins; what lies beyond them is tested exactly
    beyond = binomtest(len(sample) - seen[enough].sum(), len(sample), expected[~enough].sum() / len(sample))
    assert beyond.pvalue > 1e-6
    assert chisquare(seen[enough], expected[enough] * seen[enough].sum() / expected[enough].sum()).pvalue > 1e-6


@pytest.mark.parametrize("source", SOURCES, ids=["opendp", "simulated"])
def test_selection_follows_the_exponential_mechanism(source):
    """Probabilities in proportion to exp(-epsilon u / (2 sensitivity)), row by row, small scores best."""
    event = Selection("k", 0.5, 2.0)
    scores = np.tile([0.0, 4.0, 8.0, 1.0], (6_000, 1))
    chosen = np.bincount(source().select(scores, event), minlength=4)
    weight = np.exp(-0.5 * scores[0] / (2 * 2.0))
    assert chisquare(chosen, weight / weight.sum() * 6_000).pvalue > 1e-6


def test_noise_is_added_to_the_values_in_their_shape():
    values = np.arange(6.0).reshape(2, 3) * 1e6
    for make in SOURCES:
        source = make()
        noisy = source.gaussian(values, Gaussian("q", 1.0, 1.0))
        assert noisy.shape == (2, 3)
        np.testing.assert_allclose(noisy, values, atol=10)
        assert source.discrete_gaussian(values.astype(np.int64), Gaussian("q", 1.0, 1.0)).dtype == np.int64


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("source", SOURCES, ids=["opendp", "simulated"])
def test_what_is_not_a_number_gets_no_noise(source, bad):
    with pytest.raises(ValueError, match="finite numbers only, got 1 others"):
        source().gaussian(np.array([1.0, bad]), GAUSSIAN)
    with pytest.raises(ValueError, match="integers only, got float64"):
        source().discrete_gaussian(np.array([1.0]), GAUSSIAN)


def test_a_simulation_says_so_and_can_be_repeated_and_a_release_cannot():
    assert SimulatedNoise(1).simulation
    assert not OpenDpNoise().simulation
    np.testing.assert_array_equal(
        SimulatedNoise(7).gaussian(ZEROS, GAUSSIAN), SimulatedNoise(7).gaussian(ZEROS, GAUSSIAN)
    )
    np.random.seed(0)
    first = OpenDpNoise().gaussian(ZEROS[:10], GAUSSIAN)
    np.random.seed(0)
    assert not np.array_equal(first, OpenDpNoise().gaussian(ZEROS[:10], GAUSSIAN))


def test_noise_used_twice_is_noticed():
    once = OpenDpNoise().gaussian(ZEROS[:2_000], GAUSSIAN)
    assert not repeats(once)
    assert repeats(np.tile(once[:500], 4))
