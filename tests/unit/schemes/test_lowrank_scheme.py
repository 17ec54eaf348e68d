"""`lowrank` with totals of towers: the bias of weights is undone, the error of the total is stated."""

from datetime import date
from functools import cache

import numpy as np
import pytest
from test_contract import Silence

from density_assets.geography.overlaps import overlaps, tower_cells
from density_assets.geography.places import Places
from density_assets.geography.source import embedded_city
from density_assets.people.population import simulate_week
from density_assets.privacy.noise import SimulatedNoise
from density_assets.schemes import SCHEMES
from density_assets.schemes.run import draw
from density_assets.schemes.scheme import SERIES, TOTALS, Counts
from density_assets.settings import PrivacySettings, Settings

SETTINGS = Settings(privacy=PrivacySettings(delta=2e-6))
WEEK = date(2007, 9, 10)


def weights(squares: np.ndarray, norm: int) -> np.ndarray:
    return np.minimum(65_536, np.sqrt(norm * 2**32 // np.maximum(squares, 1))).astype(np.int64)


@cache
def town(people: int, cells: int, towers: int) -> tuple[Counts, np.ndarray, Places]:
    """The counts of so many people who do not exist, their true visits per tower and hour, and where that is."""
    areas, masts = embedded_city(cells=cells, towers=towers, seed=5)
    shapes = tower_cells(masts.xy, areas.city)
    places = Places(overlaps(shapes, areas.polygons), None, masts.xy, shapes, areas.polygons)
    chunks = list(simulate_week(areas.centroids, masts.xy, users=people, seed=1, week=WEEK))
    user, tower, hour = (
        np.concatenate([getattr(chunk, name) for chunk in chunks]) for name in ("user", "tower", "hour")
    )
    user = np.unique(user, return_inverse=True)[1]
    original, weighted = np.zeros((towers, 168), np.int64), np.zeros((towers, 168), np.int64)
    by_user = np.zeros((user.max() + 1, towers), np.int64)
    np.add.at(by_user, (user, tower), 1)
    np.add.at(original, (tower, hour), 1)
    np.add.at(weighted, (tower, hour), weights(by_user.sum(axis=1), SETTINGS.scheme.weight_l)[user])
    totals = weights((by_user**2).sum(axis=1), SETTINGS.scheme.tower_l) @ by_user
    return Counts(series=weighted, visit_total=len(user), tower_totals=totals), original, places


def estimated(counts: Counts, places: Places, noise: SimulatedNoise, settings: Settings = SETTINGS):
    scheme = SCHEMES["lowrank"]
    plan = scheme.plan(settings)
    drawn = draw(scheme, plan, counts, places, noise)
    return scheme.estimate(SETTINGS, plan, drawn.totals, drawn.labels, drawn.series, places)


def test_without_noise_towers_have_the_sizes_that_totals_say():
    """The bias of weights at each tower, in the weighted matrix and in the estimate."""
    counts, original, places = town(20_000, 30, 40)
    true = original.sum(axis=1) / original.sum()
    sure = SETTINGS.with_epsilon(50.0)  # else totals would be taken for noisy
    weighted, sizes = counts.series.sum(axis=1), estimated(counts, places, Silence(), sure).series.sum(axis=1)
    bias = [np.abs(sizes / sizes.sum() / true - 1).mean() for sizes in (weighted, sizes)]
    assert bias[1] < 0.5 * bias[0]


def test_visits_are_those_of_the_noisy_number_whatever_totals_of_towers_say():
    counts, _, places = town(20_000, 30, 40)
    drawn = {"visits": np.array([1_000_000]), "towers": np.full(40, 65_536_000_000)}
    scheme, plan = SCHEMES["lowrank"], SCHEMES["lowrank"].plan(SETTINGS)
    series = {"series": counts.series / 65_536, "kept": np.full(40, 168)}
    estimate = scheme.estimate(SETTINGS, plan, drawn, np.arange(40), series, places)
    assert estimate.series.sum() == pytest.approx(1_000_000)
    assert (estimate.series >= 0).all()


@pytest.mark.parametrize(("cells", "towers"), [(4, 4), (12, 15)])
def test_errors_of_a_town_of_two_thousand_hold_the_error_of_its_total(cells, towers):
    """Its 27,000 visits are measured to within 53,000."""
    counts, original, places = town(2_000, cells, towers)
    truth, held = places.to_cells("towers") @ original, []
    for seed in range(25):
        estimate = estimated(counts, places, SimulatedNoise(seed))
        cells_of = places.to_cells("towers") @ estimate.series
        held.append(np.mean(np.abs(cells_of - truth) <= 1.96 * estimate.cell_error))
        assert estimate.cell_error.sum() > SCHEMES["lowrank"].plan(SETTINGS)[TOTALS][0].sigma
    assert np.mean(held) >= 0.92


def test_the_error_of_the_total_is_relative():
    """Without other noise, cells twice as full are off by twice as much."""
    counts, _, places = town(20_000, 30, 40)
    scheme, plan = SCHEMES["lowrank"], SCHEMES["lowrank"].plan(SETTINGS)
    (visits, towers), (matrix,) = plan[TOTALS], plan[SERIES]
    quiet = [type(event)(event.query, 1e-9, event.sensitivity) for event in (towers, matrix)]
    drawn = draw(scheme, plan, counts, places, Silence())
    silent = {TOTALS: (visits, quiet[0]), SERIES: (quiet[1],)}
    estimate = scheme.estimate(SETTINGS, silent, drawn.totals, drawn.labels, drawn.series, places)
    cells = places.to_cells("towers") @ estimate.series
    relative = visits.sigma / counts.visit_total
    full = cells > np.median(cells)
    assert (estimate.cell_error[full] >= relative * cells[full]).all()
    np.testing.assert_allclose(estimate.cell_error[full], relative * cells[full], rtol=0.1)
