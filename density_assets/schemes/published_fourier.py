"""The Fourier family with the scales the papers print: half of epsilon for totals, half for series."""

import math

from density_assets.geography.places import Kind
from density_assets.privacy import published
from density_assets.privacy.events import Event, Gaussian, Laplace, Selection
from density_assets.schemes.scheme import SERIES, TOTALS, Plan
from density_assets.settings import Settings


def published_plan(gaussian: bool, selects: bool, improved: bool, places: Kind, settings: Settings) -> Plan:
    """What the papers would draw. Not accounted for and never released: docs/privacy.md says why."""
    half = settings.privacy.epsilon / 2
    return {
        TOTALS: _totals(improved, places, half, settings),
        SERIES: _series(gaussian, selects, half, settings),
    }


def _totals(improved: bool, places: Kind, epsilon: float, settings: Settings) -> tuple[Event, ...]:
    l, clamp, delta = settings.privacy.visits_per_user, settings.privacy.visits_clamp, settings.privacy.delta
    if places == "cells":  # the chapter: Gaussian noise everywhere, with sqrt(l) where l is needed
        sigma = published.chapter_totals_sigma(l, 2 * epsilon, delta)
        return (Gaussian("truncated visits per place", sigma, math.sqrt(l)),)
    if not improved:
        return (Laplace("truncated visits per place", published.laplace_scale(l, epsilon), l),)
    return (
        Laplace("one visit per user, by tower", published.laplace_scale(2, epsilon), 1),
        Laplace("number of visits, each user's clamped", published.laplace_scale(2 * clamp, epsilon), clamp),
        Laplace("number of truncated visits", published.laplace_scale(l, epsilon), l),
    )


def _series(gaussian: bool, selects: bool, epsilon: float, settings: Settings) -> tuple[Event, ...]:
    l, delta = settings.privacy.visits_per_user, settings.privacy.delta
    query, norm = "coefficients of each cluster's series", math.sqrt(l)
    if not selects:
        return (Laplace(query, published.laplace_scale(norm, epsilon), norm),)  # times sqrt(k), which is fixed
    choice = Selection("number of coefficients of each cluster", epsilon / 2, norm)
    if gaussian:
        return choice, Gaussian(query, published.efpag_sigma(l, epsilon, delta), norm)
    return choice, Laplace(query, published.efpa_scale(1, l, epsilon), norm)  # times sqrt(k) where k is known
