"""The comparison of schemes on a small city: the claims of the papers hold, and finished work is kept."""

from datetime import date

import numpy as np
import polars as pl
import pytest

from density_assets.cities.embedded import embedded_city
from density_assets.cities.population import simulate_week
from density_assets.geometry.cover import minimum_cover
from density_assets.geometry.overlaps import overlaps
from density_assets.geometry.places import Places
from density_assets.geometry.voronoi import tower_cells
from density_assets.studies import schemes
from density_assets.studies.inputs import Week
from density_assets.studies.schemes import Point


@pytest.fixture(scope="module")
def week() -> Week:
    """60,000 people in a city of 60 cells; light use, so that truncation changes little."""
    cells, towers = embedded_city(cells=60, towers=80, seed=4)
    shapes = tower_cells(towers.xy, cells.city)
    pieces = overlaps(shapes, cells.polygons)
    places = Places(pieces, minimum_cover(pieces), towers.xy, shapes, cells.polygons)
    original, weighted = np.zeros((80, 168)), np.zeros((80, 168), dtype=np.int64)
    for chunk in simulate_week(cells.centroids, towers.xy, users=60_000, seed=1, week=date(2007, 9, 10)):
        n = np.bincount(chunk.user)[chunk.user]
        np.add.at(original, (chunk.tower, chunk.hour), 1)
        np.add.at(weighted, (chunk.tower, chunk.hour), np.minimum(65536, np.sqrt(20 * 2**32 // n)).astype(np.int64))
    sampled = (original.sum(axis=1) / original.sum() * 60_000).astype(np.int64)
    truth = places.to_cells("towers") @ original
    return Week(places, cells.centroids, original, weighted, sampled, int(original.sum()), truth)


def mean(week: Week, point: Point, metric: str = "mre", repetitions: int = 3) -> float:
    return float(np.mean([schemes.once(week, point, seed)[metric] for seed in range(repetitions)]))


def test_noise_on_every_count_is_worst_and_ours_is_best(week):
    errors = {name: mean(week, Point(name, "sound", True, 1.0)) for name in ("lpa", "efpa", "efpag", "lowrank")}
    assert errors["lpa"] > errors["efpa"] > errors["lowrank"]
    assert errors["lpa"] > errors["efpag"] > errors["lowrank"]


@pytest.mark.parametrize("scheme", ["lpa", "efpag", "lowrank"])
def test_errors_fall_with_epsilon(week, scheme):
    errors = [mean(week, Point(scheme, "sound", True, epsilon)) for epsilon in (0.1, 1.0, 5.0)]
    assert errors[0] > errors[1] > errors[2]


def test_finished_repetitions_are_kept(week, tmp_path):
    points = [Point("lpa", "sound", True, 1.0), Point("gpa", "published", True, 0.3)]
    said = []
    first = schemes.run(week, tmp_path, points, 1, said.append)
    assert len(said) == 2
    both = schemes.run(week, tmp_path, points, 2, said.append)
    assert len(said) == 4
    assert len(both) == 4
    assert set(first["mre"]) <= set(both["mre"])
    summary = schemes.summary(both)
    assert summary["repetitions"].to_list() == [2, 2]
    assert "| lpa | sound | 1 |" in schemes.as_markdown(summary)
    assert isinstance(both, pl.DataFrame)


def test_the_grid_has_every_scheme_sound_and_the_papers_published():
    points = schemes.grid()
    assert {point.scheme for point in points if point.calibration == "sound"} == set(schemes.SCHEMES)
    assert {point.scheme for point in points if point.calibration == "published"} == set(schemes.SCHEMES) - {"lowrank"}
