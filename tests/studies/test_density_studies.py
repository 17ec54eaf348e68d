"""Studies of releases on a small city: the claims of the papers hold, pictures are made, finished work is kept."""

from dataclasses import replace

import numpy as np
import pytest

from density_assets.errors import BadInput
from density_assets.schemes import SCHEMES
from density_assets.settings import Settings
from density_assets.studies import STUDIES
from density_assets.studies.density import released, score
from density_assets.studies.inputs import Week, load_week
from density_assets.studies.resampling import SampledWeek, load_samples
from density_assets.studies.results import write_results
from density_assets.studies.schemes import SCHEME_TABLE
from density_assets.studies.study import Source, conduct, run
from density_assets.studies.totals import TOTALS_STUDY

DENSITY = ("schemes", "cell_series", "totals", "caps", "improvements", "hours", "cells", "chapter")


@pytest.fixture(scope="module")
def week(source) -> Week:
    return load_week(source)


@pytest.fixture(scope="module")
def samples(source) -> SampledWeek:
    return load_samples(source, (10, 30, 168))


def at(scheme: str, epsilon: float, **more) -> dict:
    return {"scheme": scheme, "calibration": "sound", "improved": True, "epsilon": epsilon} | more


def mean(week: Week, point: dict, metric: str = "mre", repetitions: int = 3) -> float:
    return float(np.mean([score(week, released(week, point, seed))[metric] for seed in range(repetitions)]))


def test_noise_on_every_count_is_worst_and_ours_is_best(week):
    errors = {name: mean(week, at(name, 1.0)) for name in ("lpa", "efpa", "efpag", "lowrank")}
    assert errors["lpa"] > errors["efpa"] > errors["lowrank"]
    assert errors["lpa"] > errors["efpag"] > errors["lowrank"]


@pytest.mark.parametrize("calibration", ["sound", "published"])
def test_gaussian_noise_on_coefficients_is_better_than_laplace(week, calibration):
    efpag, efpa = (at(name, 2.0, calibration=calibration) for name in ("efpag", "efpa"))
    assert mean(week, efpag, repetitions=6) < mean(week, efpa, repetitions=6)
    assert mean(week, efpag, "pc", 6) > mean(week, efpa, "pc", 6)


def test_the_improvements_lower_the_error(week):
    assert mean(week, at("efpag", 1.0)) < mean(week, at("efpag", 1.0, improved=False))


@pytest.mark.parametrize("scheme", ["lpa", "efpag", "lowrank"])
def test_errors_fall_with_epsilon(week, scheme):
    errors = [mean(week, at(scheme, epsilon)) for epsilon in (0.1, 1.0, 5.0)]
    assert errors[0] > errors[1] > errors[2]


def test_efpag_is_stable_in_the_cap_and_lpa_is_not(samples):
    def error(scheme: str, cap: int) -> float:
        return mean(samples.at(cap, 0), at(scheme, 1.0, visits_per_user=cap))

    efpag, lpa = ([error(scheme, cap) for cap in (10, 30, 168)] for scheme in ("efpag", "lpa"))
    assert max(efpag) - min(efpag) < 0.1
    assert max(lpa) - min(lpa) > 3 * (max(efpag) - min(efpag))


def test_sampling_one_visit_helps_totals_where_epsilon_is_small(samples):
    def divergence(sampling: bool) -> float:
        point = {"epsilon": 0.05, "sampling": sampling}
        return float(np.mean([TOTALS_STUDY.once(samples, point, seed)[0]["jsd"] for seed in range(5)]))

    assert divergence(True) < 0.3 * divergence(False)


def test_samples_differ_and_the_cap_holds(week, samples):
    kept = {cap: samples.truncated[cap, 0].sum() for cap in (10, 30, 168)}
    assert kept[10] < kept[30] < kept[168] <= week.tower_totals.sum()
    assert np.array_equal(samples.truncated[30, 0], week.truncated)  # the first sample is the release's own
    assert not np.array_equal(samples.truncated[30, 0], samples.truncated[30, 1])
    assert samples.sampled[0].sum() == samples.sampled[1].sum()
    assert not np.array_equal(samples.sampled[0], samples.sampled[1])


def test_finished_repetitions_are_kept(week, tmp_path):
    points = (at("lpa", 1.0), at("gpa", 0.3, calibration="published"))
    study, book, said = replace(SCHEME_TABLE, grid=points), tmp_path / "kept.jsonl", []
    first = run(study, week, book, 1, said.append)
    assert len(said) == 2
    with book.open("a") as file:
        file.write('["half a li')  # as a crash leaves it
    both = run(study, week, book, 2, said.append)
    assert len(said) == 4
    assert "4 of 4" in said[-1]
    assert set(first["mre"]) <= set(both["mre"])
    assert run(study, week, book, 2, said.append).equals(both)
    assert len(said) == 4
    assert "| lpa | sound | 1 |" in SCHEME_TABLE.summary(both)


def test_a_city_made_otherwise_starts_its_own_book(source):
    fewer = source.settings.model_copy(update={"city": source.settings.city.model_copy(update={"users": 59_999})})
    assert replace(source, settings=fewer).identity(weekly=True) != source.identity(weekly=True)
    assert replace(source, settings=fewer).identity(weekly=False) == source.identity(weekly=False)


@pytest.mark.parametrize("name", DENSITY)
def test_a_study_leaves_a_table_figures_and_a_summary(source, name):
    study = STUDIES[name]
    some = replace(study, grid=study.grid[:: max(1, len(study.grid) // 12)] if name != "totals" else study.grid[-4:])
    some = some if name in ("schemes", "totals") else replace(study, grid=study.grid)
    outcome = conduct(some, source, 1, lambda _: None)
    assert outcome.summary.startswith(f"## {study.title}")
    assert "|" in outcome.summary
    assert (outcome.folder / "results.parquet").exists()
    for figure, picture in outcome.pictures.items():
        assert picture == (outcome.folder / f"{figure}.png").read_bytes()
        assert (outcome.folder / f"{figure}.svg").read_bytes().startswith(b"<?xml")


def test_the_results_page_has_every_section_and_its_pictures(source, tmp_path):
    write_results(source, ["chapter", "cell_series"], 1, tmp_path / "results.md")
    page = (tmp_path / "results.md").read_text()
    assert page.index("## Without a cover") < page.index("## One cell")
    assert "(images/results/chapter_maps.png)" in page
    assert (tmp_path / "images/results/chapter_maps.png").exists()
    assert "(#one-cell-hour-by-hour-figs-35)" in page
    with pytest.raises(BadInput, match="cell_series"):
        write_results(source, ["cell_serie"], 1, tmp_path / "results.md")


def test_real_people_are_refused(source):
    city = source.settings.city.model_copy(update={"visits": "visits/{week}/*.csv", "users": None})
    settings = Settings(city=city, folder=source.settings.folder)
    with pytest.raises(BadInput, match="synthetic"):
        load_week(Source(settings, source.store, source.week))


def test_the_grid_has_every_scheme_sound_and_the_papers_published():
    grid = SCHEME_TABLE.grid
    assert {point["scheme"] for point in grid if point["calibration"] == "sound"} == set(SCHEMES)
    assert {point["scheme"] for point in grid if point["calibration"] == "published"} == set(SCHEMES) - {"lowrank"}
