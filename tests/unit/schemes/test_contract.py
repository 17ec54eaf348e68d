"""What every scheme must do, on a small city: shapes, budgets, and exactness when there is no noise."""

from datetime import date

import numpy as np
import pytest

from density_assets.estimation.rhythm import smooth_nights
from density_assets.geography.overlaps import overlaps, tower_cells
from density_assets.geography.places import Places, minimum_cover
from density_assets.geography.source import embedded_city
from density_assets.people.population import simulate_week
from density_assets.privacy.composition import spent
from density_assets.privacy.noise import SimulatedNoise
from density_assets.schemes import SCHEMES
from density_assets.schemes.run import cell_density, draw, run
from density_assets.schemes.scheme import SERIES, TOTALS, Counts
from density_assets.settings import PrivacySettings, SchemeSettings, Settings

CELLS, TOWERS = embedded_city(cells=30, towers=40, seed=5)
SHAPES = tower_cells(TOWERS.xy, CELLS.city)
PIECES = overlaps(SHAPES, CELLS.polygons)
PLACES = Places(PIECES, minimum_cover(PIECES), TOWERS.xy, SHAPES, CELLS.polygons)
WEEK = date(2007, 9, 10)


def week():
    """Counts of 3,000 people; nobody truncated, so that without noise the original must come back."""
    series = np.zeros((40, 168), dtype=np.int64)
    for chunk in simulate_week(CELLS.centroids, TOWERS.xy, users=3_000, seed=1, week=WEEK):
        np.add.at(series, (chunk.tower, chunk.hour), 1)
    return series


TRUTH = week()


def settings(name, epsilon=0.3, calibration="sound", improved=True):
    return Settings(
        privacy=PrivacySettings().model_copy(update={"epsilon": epsilon}),  # beyond what settings accept, too
        scheme=SchemeSettings(name=name, calibration=calibration, improved=improved),
    )


def counts(scheme, settings):
    if scheme.places == "towers":
        totals = TRUTH.sum(axis=1) * 65536
        return Counts(series=TRUTH * 65536, visit_total=int(TRUTH.sum()), tower_totals=totals)
    sampled = TRUTH.sum(axis=1)  # in proportion to all visits, as sampling is on average
    return Counts(
        series=PLACES.from_towers(scheme.places) @ TRUTH.astype(float), sampled=sampled, visit_total=int(TRUTH.sum())
    )


class Silence(SimulatedNoise):
    """A source of no noise: values as they are, and the best score chosen."""

    def __init__(self):
        super().__init__(0)

    def gaussian(self, values, event):
        return np.array(values, dtype=float)

    laplace = gaussian

    def discrete_gaussian(self, values, event):
        return np.array(values)

    def select(self, scores, event):
        return np.argmin(scores, axis=1)


def released(scheme, asked, noise):
    plan = scheme.plan(asked)
    drawn = draw(scheme, plan, counts(scheme, asked), PLACES, noise)
    estimate = scheme.estimate(asked, plan, drawn.totals, drawn.labels, drawn.series, PLACES)
    return drawn, estimate, cell_density(scheme, asked, plan, drawn, PLACES)


VARIANTS = [
    (name, improved)
    for name in SCHEMES
    for improved in ((True, False) if name in ("efpa", "efpag", "fpa") else (True,))
]


@pytest.mark.parametrize(("name", "improved"), VARIANTS)
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_a_sound_plan_costs_what_was_asked_and_no_more(name, improved, epsilon):
    asked = settings(name, epsilon, improved=improved)
    plan = SCHEMES[name].plan(asked)
    events = [event for door in plan.values() for event in door]
    assert 0.99 * epsilon < spent(events, asked.privacy.delta).epsilon <= 0.999 * epsilon
    assert set(plan) <= {TOTALS, SERIES}


@pytest.mark.parametrize(("name", "improved"), VARIANTS)
@pytest.mark.parametrize("calibration", ["sound", "published"])
def test_estimates_have_the_shape_of_the_places_and_are_never_negative(name, improved, calibration):
    scheme = SCHEMES[name]
    asked = settings(name, 0.5, calibration, improved)
    drawn, estimate, density = released(scheme, asked, SimulatedNoise(3))
    count = {"towers": 40, "cells": 30, "cover": len(PLACES.cover)}[scheme.places]
    assert drawn.labels.shape == (count,)
    assert drawn.series["series"].shape == (drawn.labels.max() + 1, 168)
    assert estimate.series.shape == (count, 168)
    assert (estimate.series >= 0).all()
    assert np.isfinite(estimate.series).all()
    assert estimate.cell_error.shape == (30, 168)
    assert (estimate.cell_error >= 0).all()
    assert density.shape == (30, 168)
    known = counts(scheme, asked)
    np.testing.assert_array_equal(run(scheme, asked, scheme.plan(asked), known, PLACES, SimulatedNoise(3)), density)


@pytest.mark.parametrize("name", ["lpa", "gpa", "efpa", "efpag", "efpag_iris", "lowrank"])
def test_without_noise_and_with_all_the_budget_the_original_comes_back(name):
    scheme = SCHEMES[name]
    asked = settings(name, 10.0 if name in ("lpa", "gpa") else 1e5, improved=False)
    drawn, _, density = released(scheme, asked, Silence())
    assert drawn.labels.max() + 1 == len(drawn.labels)  # nobody needs a cluster
    truth = PLACES.from_towers("cells") @ TRUTH
    truth = smooth_nights(truth) if name == "efpag_iris" else truth  # whatever the settings
    np.testing.assert_allclose(density, truth, atol=1e-3 * truth.max())


def test_a_city_below_the_noise_is_empty_and_as_uncertain_as_the_noise():
    scheme, asked = SCHEMES["lowrank"], settings("lowrank")
    plan = scheme.plan(asked)
    drawn = {"series": np.full((40, 168), -1.0), "kept": np.full(40, 168)}
    totals = {"visits": np.array([100_000]), "towers": np.zeros(40)}
    estimate = scheme.estimate(asked, plan, totals, np.arange(40), drawn, PLACES)
    assert not estimate.series.any()
    assert estimate.cell_error.max() < plan[SERIES][0].sigma / 65536 * 40


@pytest.mark.parametrize("name", list(SCHEMES))
def test_more_budget_is_less_noise(name):
    scales = [
        [
            getattr(event, "sigma", getattr(event, "scale", None))
            for event in SCHEMES[name].plan(settings(name, e))[SERIES]
        ][-1]
        for e in (0.1, 0.3, 1.0)
    ]
    assert scales[0] > scales[1] > scales[2]


@pytest.mark.parametrize("name", list(SCHEMES))
def test_doors_read_what_they_declare_and_nothing_else(name):
    scheme, asked = SCHEMES[name], settings(name)
    reads = scheme.reads(asked)
    plan = scheme.plan(asked)
    known = counts(scheme, asked)
    only_totals = Counts(
        series=known.series if {"cover_series", "iris_series"} & set(reads[TOTALS]) else None,
        sampled=known.sampled if "one_visit_histogram" in reads[TOTALS] else None,
        visit_total=known.visit_total if "visit_total" in reads[TOTALS] else None,
        tower_totals=known.tower_totals if "tower_totals" in reads[TOTALS] else None,
    )
    totals = scheme.totals(plan, only_totals, SimulatedNoise(1))
    labels = scheme.clusters(plan, totals, PLACES)
    scheme.series(plan, Counts(series=known.series), labels, SimulatedNoise(1))


def test_counts_that_are_no_counts_are_refused():
    for bad in (np.array([[1.0, np.nan]]), np.array([[np.inf]]), np.array([[-1.0]])):
        with pytest.raises(ValueError, match="series must be finite counts of zero or more"):
            Counts(series=bad)
