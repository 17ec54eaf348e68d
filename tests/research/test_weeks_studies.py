"""Studies of weeks on small cities: each leaves a table, figures and a summary, and finds what was planted."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from density_assets.errors import BadInput
from density_assets.research.studies import study_named
from density_assets.research.study import Source, conduct
from density_assets.research.weeks import changes_study, sizes_study, sums_study
from density_assets.research.weeks.cities import POPULATION, VISITS, cities_made_from, load_cities, pedestrian_city
from density_assets.research.weeks.estimators import LEARNING_NAME
from density_assets.research.weeks.sizes_study import EMPTY, FLAT

PNG = b"\x89PNG"


def few(name: str, source: Source, weeks: int, **points) -> pl.DataFrame:
    """The study on the small city, at some points of its grid, once."""
    study = study_named(name)
    grid = tuple(point for point in study.grid if point["city"] == "own" and points.items() <= point.items())
    outcome = conduct(replace(study, grid=grid, load=load_cities(weeks)), source, 1, lambda _: None)
    assert outcome.summary.startswith(f"## {study.title}")
    assert outcome.pictures
    assert all(picture.startswith(PNG) for picture in outcome.pictures.values())
    return outcome.results


def test_weeks_are_scored_one_after_another(source):
    results = few("weeks", source, 2, epsilon=1.0)
    assert results["week"].unique().sort().to_list() == [1, 2]
    assert results["mre"].is_between(0, 3).all()
    assert results["coverage"].is_between(0, 1).all()
    year, week = (results.filter(pl.col("total_weeks") == weeks)["mre"].mean() for weeks in (52, 1))
    assert year > week  # the same epsilon for a year is more noise


def test_sums_of_every_size_are_judged(source):
    results = few("sums", source, 1, epsilon=0.3)
    assert {"cells", "district-days", "random sets", "city-hours", "whole week"} <= set(results["sums"])
    widths = dict(results.filter(estimator=LEARNING_NAME).select("sums", "width").iter_rows())
    assert widths["cells"] > widths["districts"] > widths["district-days"]
    published = results.filter(estimator=sums_study.PUBLISHED)
    assert set(published["sums"]) == set(results["sums"])
    assert published["spread"].is_between(0.8, 1.25).all()


@pytest.mark.parametrize("trial", ["48 h outage", "snow"])
def test_a_change_is_followed_by_the_week_alone_and_missed_by_the_mean(source, trial, monkeypatch):
    monkeypatch.setattr(changes_study, "PROMISE", replace(changes_study.PROMISE, epsilon=5.0))
    results = few("changes", source, 8, trial=trial)
    assert set(results["where"]) >= {"concerned", "week after"}
    where_it_happens = results.filter(where="concerned").group_by("estimator").agg(pl.col("error").mean())
    errors = dict(where_it_happens.iter_rows())
    assert errors["mean of weeks"] > 1.5 * errors["week alone"]


def test_small_cities_are_compared_with_flat_and_empty_maps(source, monkeypatch):
    monkeypatch.setattr(sizes_study, "USERS", (2_000,))
    monkeypatch.setattr(sizes_study, "TOWERS", (20,))
    grid = tuple(
        {"generator": generator, "towers": 20, "users": 2_000, "epsilon": epsilon}
        for generator in ("people", "patchwork")
        for epsilon in sizes_study.EPSILONS
    )
    outcome = conduct(replace(study_named("sizes"), grid=grid), source, 1, lambda _: None)
    assert set(outcome.results["method"]) == {LEARNING_NAME, "efpag", FLAT, EMPTY}
    assert outcome.results.filter(method=EMPTY)["mre"].is_between(0.7, 1.0).all()
    assert outcome.pictures["sizes"].startswith(PNG)


def test_other_people_start_another_book(source):
    others = source.settings.model_copy(update={"city": source.settings.city.model_copy(update={"users": 61_000})})
    for name in ("weeks", "changes", "sums"):
        assert study_named(name).identity(source) != study_named(name).identity(replace(source, settings=others))
    assert cities_made_from(source)["cities"] != cities_made_from(replace(source, settings=others))["cities"]


@pytest.fixture
def pedestrians(tmp_path):
    random = np.random.default_rng(1)
    counts = random.poisson(40, (6, 72 + 3 * 168)).astype(np.float32)
    counts[2, 80:90] = -1  # nothing was counted
    np.save(tmp_path / "pedestrians.npy", counts)
    table = {"lat": -37.8 + random.uniform(0, 0.05, 6), "lon": 144.9 + random.uniform(0, 0.05, 6)}
    pl.DataFrame(table).write_csv(tmp_path / "sensors.csv")
    return tmp_path


def test_pedestrians_are_scaled_and_have_no_weights(pedestrians):
    city = pedestrian_city(pedestrians, 3)
    assert np.mean([week.visits for week in city.weeks]) == pytest.approx(POPULATION * VISITS, rel=0.01)
    for week in city.weeks:
        assert np.array_equal(week.weighted[10], week.original)
        assert week.tower_totals.sum() == week.visits
    assert city.weeks[0].original[2, 8:18].sum() == 0
    assert np.allclose(city.ground.to_cells, np.eye(6))


def test_pedestrians_must_be_there_and_be_enough(pedestrians):
    with pytest.raises(BadInput, match="must hold 4 whole weeks, found 3"):
        pedestrian_city(pedestrians, 4)
    (pedestrians / "sensors.csv").unlink()
    with pytest.raises(BadInput, match=r"must hold sensors\.csv"):
        pedestrian_city(pedestrians, 1)


def test_a_folder_of_pedestrians_takes_the_place_of_simulated_cities(source, pedestrians):
    assert set(load_cities(2)(replace(source, data=pedestrians))) == {"pedestrians"}
