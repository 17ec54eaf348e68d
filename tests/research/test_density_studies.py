"""Studies of releases on a small city: the claims of the papers hold, pictures are made, finished work is kept."""

import shutil
from dataclasses import replace
from datetime import timedelta
from itertools import product

import numpy as np
import polars as pl
import pytest

from density_assets.errors import BadInput
from density_assets.privacy.sensitivity import truncated_l2, weighted_l2
from density_assets.research import results
from density_assets.research import study as study_module
from density_assets.research.density import releases
from density_assets.research.density import week as sampled
from density_assets.research.density.releases import SCHEME_TABLE, plan_of, released, score
from density_assets.research.density.truncation import TOTALS_STUDY
from density_assets.research.density.week import KnownWeek, SampledWeek, load_samples, load_week
from density_assets.research.published_metrics import EMD_HOURS
from density_assets.research.results import write_results
from density_assets.research.studies import STUDIES, study_named
from density_assets.research.study import Source, conduct, run
from density_assets.schemes import SCHEMES
from density_assets.schemes.scheme import SERIES
from density_assets.settings import Settings
from resources.sql import duckdb_engine
from resources.sql.models import model
from resources.tables.stamps import stamp_values
from resources.tables.store import Store

DENSITY = ("schemes", "cell_series", "totals", "caps", "improvements", "hours", "cells", "chapter")


@pytest.fixture(scope="module")
def week(source) -> KnownWeek:
    return load_week(source)


@pytest.fixture(scope="module")
def samples(source) -> SampledWeek:
    return load_samples(source, (10, 30, 168))


def at(scheme: str, epsilon: float, **more) -> dict:
    return {"scheme": scheme, "calibration": "sound", "improved": True, "epsilon": epsilon} | more


def mean(week: KnownWeek, point: dict, metric: str = "mre", repetitions: int = 3) -> float:
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
    assert kept[10] < kept[30] < kept[168] <= week.tower_visits.sum()
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


def under(settings: Settings, table: str, **changes) -> Settings:
    """The same settings with some of a table changed."""
    return settings.model_copy(update={table: getattr(settings, table).model_copy(update=changes)})


def test_a_week_is_released_under_the_settings_it_was_made_under(week):
    made = replace(week, settings=under(under(week.settings, "scheme", weight_l=1), "privacy", visits_per_user=10))
    (weighted,) = (event for event in plan_of(made, at("lowrank", 0.3))[SERIES])
    assert weighted.sensitivity == weighted_l2(1) != weighted_l2(week.settings.scheme.weight_l)
    assert plan_of(made, at("efpag", 0.3))[SERIES][-1].sensitivity == truncated_l2(10)
    assert plan_of(made, at("efpag", 0.3, visits_per_user=168))[SERIES][-1].sensitivity == truncated_l2(168)


def test_totals_are_noised_for_the_clamp_of_the_settings(samples):
    tight = replace(
        samples, week=replace(samples.week, settings=under(samples.week.settings, "privacy", visits_clamp=1))
    )
    loose, close = (TOTALS_STUDY.once(it, {"epsilon": 0.1, "sampling": False}, 0)[0]["mre"] for it in (samples, tight))
    assert close < 0.05 * loose


def test_earth_movers_hours_favour_no_hour_of_the_day():
    assert sorted(hour % 24 for hour in EMD_HOURS) == list(range(24))
    assert {hour // 24 for hour in EMD_HOURS} == set(range(7))


@pytest.mark.parametrize("name", DENSITY)
def test_kept_repetitions_belong_to_what_they_were_made_from(source, name):
    study = study_named(name)
    kept = study.identity(source)
    assert study.identity(replace(source, settings=under(source.settings, "privacy", epsilon=1.0))) == kept
    assert study.identity(replace(source, settings=under(source.settings, "scheme", name="gpa"))) == kept
    assert study.identity(replace(source, settings=under(source.settings, "privacy", delta=1e-6))) != kept
    assert study.identity(replace(source, settings=under(source.settings, "scheme", split=0.4))) != kept


@pytest.fixture
def copy(source, tmp_path) -> Source:
    """The small city, to be changed."""
    shutil.copytree(source.store.folder, tmp_path / "small", ignore=shutil.ignore_patterns("studies", "dagster"))
    return replace(source, store=Store(tmp_path, "small", stamp_values(source.settings)))


def test_other_people_or_another_geography_start_another_book(copy):
    study = study_named("caps")
    kept, sample = study.identity(copy), load_samples(copy, (10,)).truncated[10, 0]
    visits = copy.store.read_week("visits", copy.week)
    copy.store.write_week("visits", copy.week, visits.head(len(visits) // 2))
    others = study.identity(copy)
    assert others != kept
    assert load_samples(copy, (10,)).truncated[10, 0].sum() < sample.sum()
    cells = copy.store.read_public("cells")
    copy.store.write_public("cells", cells.with_columns(pl.col("cell_id").reverse()))
    assert study.identity(copy) != others


def test_samples_of_other_sql_are_counted_again(copy, monkeypatch):
    first = load_samples(copy, (10,)).truncated[10, 0]
    stricter = model("truncated_visits").sql.replace("place <= $visits_per_user", "place < $visits_per_user")
    changed = {"truncated_visits": replace(model("truncated_visits"), sql=stricter)}
    for module in (duckdb_engine, sampled):
        monkeypatch.setattr(module, "model", lambda name: changed.get(name) or model(name))
    assert load_samples(copy, (10,)).truncated[10, 0].sum() < first.sum()


def test_draws_of_another_format_start_another_book(source, monkeypatch):
    kept = study_named("chapter").identity(source)
    monkeypatch.setattr(study_module, "FORMAT", study_module.FORMAT + 1)
    assert study_named("chapter").identity(source) != kept


@pytest.mark.parametrize("name", DENSITY)
def test_a_study_leaves_a_table_figures_and_a_summary(source, name):
    study = study_named(name)
    some = replace(study, grid=study.grid[:: max(1, len(study.grid) // 12)] if name != "totals" else study.grid[-4:])
    some = some if name in ("schemes", "totals") else replace(study, grid=study.grid)
    outcome = conduct(some, source, 1, lambda _: None)
    assert outcome.summary.startswith(f"## {study.title}")
    assert "|" in outcome.summary
    assert outcome.folder == source.store.folder / "studies" / name / str(source.week)
    assert study.folder(replace(source, week=source.week + timedelta(7))) != outcome.folder
    assert pl.read_parquet(outcome.folder / "results.parquet").equals(outcome.results)
    assert "delta 2e-06, l = 30 visits kept per user, 732 counted" in outcome.summary
    assert (outcome.folder / "summary.md").read_text() == outcome.summary
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


def test_without_names_the_results_page_has_the_studies_of_the_week(source, tmp_path, monkeypatch):
    monkeypatch.setattr(results, "STUDIES", ("schemes", "membership"))
    monkeypatch.setattr(releases, "SCHEME_TABLE", replace(SCHEME_TABLE, grid=(at("lpa", 1.0),)))
    write_results(source, [], 1, tmp_path / "results.md")
    assert (tmp_path / "results.md").read_text().count("\n## ") == 1
    assert tuple(name for name in STUDIES if study_named(name).tables) == DENSITY


def test_real_people_are_refused(source):
    city = source.settings.city.model_copy(update={"visits": "visits/{week}/*.csv", "users": None})
    settings = Settings(city=city, folder=source.settings.folder)
    with pytest.raises(BadInput, match="synthetic"):
        load_week(Source(settings, source.store, source.week))


def test_the_grid_is_every_scheme_calibration_and_epsilon_but_ours_is_not_published():
    cases = {(point["scheme"], point["calibration"], point["epsilon"]) for point in SCHEME_TABLE.grid}
    every = set(product(SCHEMES, ("sound", "published"), (0.1, 0.3, 1.0)))
    assert every - cases == {("lowrank", "published", epsilon) for epsilon in (0.1, 0.3, 1.0)}
    assert cases <= every
