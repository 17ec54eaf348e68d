"""Calibration: never above what was asked, less than one percent below, for every mixture of events."""

import math

import dp_accounting as dpa
import pytest

from density_assets.privacy import published
from density_assets.privacy.accounting import spent
from density_assets.privacy.calibration import calibrate, gaussian_sigma, laplace_scale, selection_epsilon
from density_assets.privacy.events import Gaussian, Laplace, Selection


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
