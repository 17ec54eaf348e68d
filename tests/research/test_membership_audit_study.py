"""The audit of membership attacks every scheme on invented people, and would notice missing noise."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import polars as pl

from density_assets.research.membership import own_releases as membership_audit
from density_assets.research.studies import study_named
from density_assets.research.study import Source, run
from density_assets.schemes import SCHEMES
from density_assets.settings import PrivacySettings, SchemeSettings, Settings
from density_assets.settings.city import CitySettings
from resources.tables.store import Store


def test_the_audit_of_a_city_of_real_people_is_about_invented_ones(tmp_path):
    """Nothing of the city is read: neither its files, which are not there, nor its store."""
    city = CitySettings.model_construct(name="real", visits="visits/*.csv", first_week=date(2007, 9, 10))
    real = Settings().model_copy(update={"city": city})
    store = Store(tmp_path / "home", "real")
    inputs = membership_audit.load_district(Source(real, store, city.first_week))
    same = membership_audit.district(Settings(), city.first_week)
    assert (inputs.traces.matrix != same.traces.matrix).nnz == 0


def audited(inputs: membership_audit.District, book: Path, repetitions: int, *of: str) -> pl.DataFrame:
    study = replace(study_named("membership_audit"), grid=tuple({"of": name} for name in of))
    return run(study, inputs, book, repetitions, lambda line: None)


def test_every_scheme_is_audited_and_others_than_the_configured_as_they_could_be_released():
    assert {point["of"] for point in study_named("membership_audit").grid} == {"raw counts", *SCHEMES}
    settings = Settings(scheme=SchemeSettings(name="efpa", calibration="published", split=0.3))
    assert membership_audit.with_scheme(settings, "efpa") == settings
    other = membership_audit.with_scheme(settings, "lpa")
    assert (other.scheme.name, other.scheme.calibration, other.scheme.split) == ("lpa", "sound", None)
    assert other.privacy == settings.privacy


def test_the_audit_finds_people_in_raw_counts_and_not_in_releases(tmp_path, monkeypatch):
    monkeypatch.setattr(membership_audit, "SAMPLES", 100)
    inputs = membership_audit.district(Settings(scheme=SchemeSettings(name="gpa")), date(2007, 9, 10))
    results = audited(inputs, tmp_path / "book", 2, "raw counts", "gpa", "threshold")
    raw = results.filter(of="raw counts")
    assert raw["matched"].mean() > 0.9
    assert results.filter(of="threshold")["matched"].mean() < 0.66
    # six victims, a hundred groups each: three standard errors of the mean are 0.07
    assert membership_audit.mean_auc(results)[0] < 0.66
    assert results.filter(configured=True)["of"].unique().to_list() == ["gpa"]
    assert "| **gpa** (configured) | matched filter |" in membership_audit.tabulate_audit(results)
    assert "| threshold | matched filter |" in membership_audit.tabulate_audit(results)
    assert set(membership_audit.plot_audit(inputs, results)) == {"audit"}


def test_the_audit_would_notice_missing_noise(tmp_path, monkeypatch):
    monkeypatch.setattr(membership_audit, "SAMPLES", 60)
    privacy = PrivacySettings().model_copy(update={"epsilon": 500.0})  # more than any file may ask for
    settings = Settings(privacy=privacy, scheme=SchemeSettings(name="gpa"))
    inputs = membership_audit.district(settings, date(2007, 9, 10))
    results = audited(inputs, tmp_path / "book", 1, "gpa", "raw counts")
    assert membership_audit.mean_auc(results)[0] > 0.8


def test_kept_results_depend_on_the_promise(tmp_path):
    store, week = Store(tmp_path, "embedded"), date(2007, 9, 10)
    one, other = (Source(Settings(privacy=PrivacySettings(epsilon=e)), store, week) for e in (0.3, 1.0))
    audit, own = study_named("membership_audit"), study_named("epsilon_audit")
    assert audit.identity(one) != audit.identity(other)
    assert own.identity(one) == own.identity(other)
