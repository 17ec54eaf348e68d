"""EFPA and EFPAG by hand: what is kept, what noise it gets, how clusters share the bound."""

import math

import numpy as np
import pytest
from scipy.fft import dct
from test_contract import Silence

from density_assets.privacy.events import Gaussian, Laplace, LaplaceVector, Selection
from density_assets.privacy.noise import SimulatedNoise
from density_assets.privacy.sensitivity import truncated_l2
from density_assets.schemes import SCHEMES
from density_assets.schemes.scheme import SERIES, TOTALS, Counts
from density_assets.settings import PrivacySettings, SchemeSettings, Settings


def plan(name, calibration="sound", improved=True):
    scheme = SchemeSettings(name=name, calibration=calibration, improved=improved)
    return SCHEMES[name].plan(Settings(scheme=scheme, privacy=PrivacySettings(delta=2e-6)))


def test_published_scales_are_the_printed_ones():
    """Epsilon 0.3 (0.15 for series), delta 2e-6, l 30."""
    selection, noise = plan("efpag", "published")[SERIES]
    assert noise.sigma == pytest.approx(math.sqrt(8 * 30 * math.log(2e6)) / 0.15)
    assert selection.scale == pytest.approx(4 * math.sqrt(30) / 0.15)  # exponent -epsilon u / (4 Delta2)
    sampled, visits, _ = plan("efpag", "published")[TOTALS]
    assert (sampled.scale, visits.scale) == (pytest.approx(2 / 0.15), pytest.approx(2 * 732 / 0.15))
    (basic,) = plan("efpag", "published", improved=False)[TOTALS]
    assert basic.scale == pytest.approx(30 / 0.15)
    _, laplace = plan("efpa", "published")[SERIES]
    assert laplace.scale * math.sqrt(9) == pytest.approx(2 * math.sqrt(9) * math.sqrt(30) / 0.15)


def test_the_coefficients_that_pay_are_kept():
    """A series of three low coefficients: keeping more than three adds noise only."""
    exact = np.zeros(168)
    exact[:3] = 1e6, 5e5, 4e5
    series = dct(exact, type=3, norm="ortho")[None, :]
    for name in ("efpa", "efpag"):
        drawn = SCHEMES[name].series(plan(name), Counts(series=np.maximum(series, 0)), np.array([0]), Silence())
        kept = drawn["kept"].item()
        assert kept >= 3
    positive = Counts(series=series - series.min())
    drawn = SCHEMES["efpag"].series(plan("efpag"), positive, np.array([0]), Silence())
    assert drawn["kept"].item() == 3
    np.testing.assert_allclose(drawn["series"], positive.series, atol=1e-6 * series.max())


def test_published_laplace_noise_grows_with_the_root_of_what_is_kept():
    scheme, published = SCHEMES["efpa"], plan("efpa", "published")
    exact = np.zeros((4000, 168))
    kept = np.full(4000, 16)
    noise = scheme._laplace(exact, published[SERIES][1], kept, SimulatedNoise(1))
    assert noise[:, :16].std() == pytest.approx(math.sqrt(2) * 2 * 4 * math.sqrt(30) / 0.15, rel=0.02)


def test_sound_events_of_the_series_are_those_of_all_clusters_together():
    selection, noise = plan("efpag")[SERIES]
    assert isinstance(selection, Selection)
    assert isinstance(noise, Gaussian)
    assert selection.sensitivity == noise.sensitivity == truncated_l2(30)
    _, vector = plan("efpa")[SERIES]
    assert isinstance(vector, LaplaceVector)


def test_published_laplace_over_clusters_breaks_its_claim():
    """30 clusters with one visit each: pure losses of 2 sqrt(k) sqrt(l) noise add up to more than the claimed half."""
    l, epsilon = 30, 0.15
    change = np.zeros((l, 168))
    change[np.arange(l), np.arange(l) * 5] = 1
    scale = SCHEMES["efpa"].plan(Settings(scheme=SchemeSettings(name="efpa", calibration="published")))[SERIES][1].scale
    k = 168
    loss = np.abs(dct(change, type=2, norm="ortho", axis=1)).sum() / (scale * math.sqrt(k))
    assert loss > 4 * epsilon / 2


def test_improved_totals_have_the_scale_of_all_visits_and_the_shape_of_the_sample():
    scheme = SCHEMES["efpag"]
    totals = {"sampled": np.array([10.0, 30.0, -5.0]), "visits": np.array([800.0]), "truncated": np.array([400.0])}

    class Identity:
        def from_towers(self, kind):
            return np.eye(3)

    np.testing.assert_allclose(scheme.place_totals(totals, Identity()), [200, 600, 0])


def test_basic_totals_are_the_noisy_sums():
    known = Counts(series=np.ones((4, 168)))
    drawn = SCHEMES["efpag"].totals(plan("efpag", improved=False), known, Silence())
    np.testing.assert_array_equal(drawn["places"], [168] * 4)
    (event,) = plan("efpa", improved=False)[TOTALS]
    assert isinstance(event, Laplace)
    assert event.sensitivity == pytest.approx(30, rel=1e-5)
