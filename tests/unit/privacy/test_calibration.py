"""Calibration: never above what was asked, less than one percent below, for every mixture of events."""

import math

import dp_accounting as dpa
import pytest

from density_assets.errors import BadInput
from density_assets.privacy import published, sensitivity
from density_assets.privacy.calibration import calibrate, gaussian_sigma, laplace_scale, selection_epsilon
from density_assets.privacy.composition import spent
from density_assets.privacy.events import Gaussian, Laplace, Selection
from density_assets.schemes import SCHEMES
from density_assets.settings import PrivacySettings, SchemeSettings, Settings


def gaussians(rho):
    return Gaussian("a", gaussian_sigma(0.1 * rho, 732), 732), Gaussian("b", gaussian_sigma(0.9 * rho, 5.5), 5.5)


def mixed(rho):
    return Gaussian("a", gaussian_sigma(0.4 * rho, 2), 2), Selection("k", selection_epsilon(0.6 * rho), 2)


def with_laplace(rho):
    return Gaussian("a", gaussian_sigma(0.5 * rho, 2), 2), Laplace("b", laplace_scale(0.5 * rho, 7), 7)


@pytest.mark.parametrize("events_at", [gaussians, mixed, with_laplace])
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("delta", [1e-9, 2e-6])
def test_a_release_costs_what_was_asked(events_at, epsilon, delta):
    cost = spent(calibrate(events_at, epsilon, delta), delta).epsilon
    assert 0.99 * epsilon < cost <= 0.999 * epsilon


def test_one_gaussian_is_the_analytic_one():
    (event,) = calibrate(lambda rho: [Gaussian("a", gaussian_sigma(rho, 3), 3)], 0.3, 2e-6)
    assert event.sigma == pytest.approx(3 * dpa.get_sigma_gaussian(0.3, 2e-6), rel=0.005)
    assert event.sigma > 3 * dpa.get_sigma_gaussian(0.3, 2e-6)


def integers(sensitivity):
    def events_at(rho):
        return (
            Gaussian("a", gaussian_sigma(0.97 * rho, sensitivity), sensitivity),
            Gaussian("b", gaussian_sigma(0.03 * rho, 2.9e5), 2.9e5),
        )

    return events_at


def test_noise_on_integers_that_is_less_private_than_it_looks_is_refused():
    """Epsilon 8 was asked and 8.24 is what it costs: the discrete Gaussian of sigma 0.65 is not the continuous one."""
    with pytest.raises(BadInput, match=r"its sigma is 0\.649, which may cost 8\.518\. Lower .*; nothing was charged"):
        calibrate(integers(1.0), 8.0, 2e-6, on_integers=True)
    calibrate(integers(1.0), 8.0, 2e-6)  # where the lattice is fine it is what it looks like


def test_noise_on_integers_of_a_usual_size_is_the_noise_that_was_searched_for():
    for epsilon in (0.1, 0.3, 1.0):
        assert calibrate(integers(732.0), epsilon, 2e-6, on_integers=True) == calibrate(integers(732.0), epsilon, 2e-6)


def test_the_scheme_that_counts_in_integers_says_so():
    coarse = Settings(
        privacy=PrivacySettings(epsilon=8, visits_clamp=1), scheme=SchemeSettings(split=0.97, tower_share=0.01)
    )
    with pytest.raises(BadInput, match="noise on whole numbers must be large beside 1"):
        SCHEMES["lowrank"].plan(coarse)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0, 1e-6), (-1, 1e-6), (math.nan, 1e-6), (math.inf, 1e-6), (1, 0), (1, 1)]
)
def test_impossible_promises_are_refused(epsilon, delta):
    with pytest.raises(ValueError, match="must"):
        calibrate(gaussians, epsilon, delta)


def test_published_scales_are_the_printed_formulas():
    """Epsilon 0.3, delta 2e-6, l 30; checked by hand."""
    assert published.efpag_sigma(30, 0.15, 2e-6) == pytest.approx(math.sqrt(8 * 30 * math.log(4 / 2e-6)) / 0.15)
    assert published.gpa_sigma(30, 0.3, 2e-6) == pytest.approx(math.sqrt(60 * math.log(625_000)) / 0.3)
    assert published.chapter_totals_sigma(30, 0.15, 1e-6) == pytest.approx(2 * math.sqrt(60 * math.log(2.5e6)) / 0.15)
    assert published.efpa_scale(9, 30, 0.15) == pytest.approx(2 * 3 * math.sqrt(30) / 0.15)
    assert published.laplace_scale(30, 0.3) == pytest.approx(100)


def test_published_gaussians_waste_noise_and_chapter_totals_lack_it():
    """Claimed (0.15, 1e-6) for totals of truncated series; their sensitivity is l, so the true epsilon is 0.635."""
    assert published.gaussian_sigma(1, 0.3, 2e-6) > dpa.get_sigma_gaussian(0.3, 2e-6)
    sigma = published.chapter_totals_sigma(30, 0.3, 2e-6)
    assert spent([Gaussian("totals", sigma, 30.0)], 1e-6).epsilon == pytest.approx(0.635, abs=0.005)


def test_bounds_of_the_defaults():
    """Of 30 visits per user, weight_l 20, tower_l 400, clamp 732; a millionth more where rounding precedes noise."""
    assert sensitivity.truncated_l1(30) == pytest.approx(30.00003, rel=1e-12)
    assert sensitivity.truncated_l2(30) == pytest.approx(5.477225575 * 1.000001, rel=1e-9)
    assert sensitivity.weighted_l2(20) == pytest.approx(4.472135955 * 65_536, rel=1e-9)
    assert sensitivity.tower_totals_l2(400) == 20 * 65_536
    assert sensitivity.one_visit() == 1
    assert sensitivity.clamped_total(732) == 732


def test_a_weight_of_one_is_a_power_of_two():
    assert sensitivity.WEIGHT_UNIT == 65_536
