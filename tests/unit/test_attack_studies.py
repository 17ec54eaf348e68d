"""Studies of attacks and defenses on a tiny city: every figure and table is made, and gains pair the same victims."""

from dataclasses import replace
from datetime import date

import numpy as np
import polars as pl
import pytest

from density_assets.attacks.victims import choose_victims
from density_assets.errors import BadInput
from density_assets.settings import CitySettings, PrivacySettings, SchemeSettings, Settings
from density_assets.studies import STUDIES, defenses, membership, membership_audit, privacy_gain
from density_assets.studies.people import GENERATED, People, load_people
from density_assets.studies.study import Source, run
from density_assets.traces.commuters import commuters
from resources.store import Store


@pytest.fixture(scope="module")
def people() -> People:
    traces = commuters(60, 2, seed=1)
    sizes = {"known_group": 20, "past_groups": 20, "past_group": 30, "defended_group": 20, "samples": 40, "weeks": 2}
    return People(traces, GENERATED.model_copy(update=sizes), choose_victims(traces, 1))


def test_membership_makes_its_figures_and_table(people, tmp_path):
    results = run(membership.MEMBERSHIP, people, tmp_path / "book", 2, lambda line: None)
    assert len(results) == 6 * 2 * 3
    assert results["auc"].is_between(0, 1).all()
    assert set(membership.figures(people, results)) == {"distributions", "components", "frequencies", "victims"}
    assert "| same groups | pca |" in membership.summary(results)


def test_gains_compare_each_victim_with_itself(people, tmp_path):
    chosen = ({"defense": "none", "level": 0}, {"defense": "SLP", "level": 0}, {"defense": "DGFR", "level": 5})
    study = replace(privacy_gain.PRIVACY_GAIN, grid=chosen)
    results = run(study, people, tmp_path / "book", 2, lambda line: None)
    gains = privacy_gain.gains(results)
    assert len(gains) == 2 * 2 * 3
    assert gains.filter(defense="DGFR")["auc"].to_list() == [0.5] * 6
    exposed = gains.filter(pl.col("defense") == "DGFR", pl.col("undefended") > 0.5)
    assert exposed["gain"].to_list() == [1.0] * len(exposed)
    assert set(privacy_gain.figures(people, results)) == {"gain", "planes"}
    assert "| DGFR | 250 | 0.500 |" in privacy_gain.summary(results)


def test_utility_of_what_is_left_alone_is_perfect_and_of_nothing_is_known():
    true = np.random.default_rng(0).integers(0, 50, (20, 168)).astype(float) + np.arange(20)[:, None]
    kept = defenses.utility(true, true)
    assert (kept["mre"], kept["f1"], kept["js"]) == (0, 1, 0)
    assert kept["r"] == pytest.approx(1)
    nothing = defenses.utility(true, np.zeros_like(true))
    assert nothing["mre"] == pytest.approx(10 / 168)  # γ is a tenth of the week's sum and exceeds every count
    assert nothing["r"] == 0


def test_tables_hold_groups_everybody_and_the_published_rows(people, tmp_path):
    chosen = tuple(point for point in defenses.DEFENSE_TABLES.grid if point["defense"] in ("SMP", "SSC"))
    results = run(replace(defenses.DEFENSE_TABLES, grid=chosen), people, tmp_path / "book", 1, lambda line: None)
    table = defenses.summary(results)
    assert "0.011 / 0.012 / 0.931 / 0.329 / 0.04 / 0.922 |" in table
    group, everybody = (results.filter(defense="SMP", of=of)["r"].mean() for of in ("group", "everybody"))
    assert everybody > group  # larger counts suffer less from sampling


def test_every_published_row_belongs_to_a_parameter(people):
    labels = {(p["defense"], defenses.parameter(people, p)[1]) for p in defenses.defense_grid()}
    assert set(defenses.PUBLISHED) <= labels


def test_visits_of_real_people_are_refused(tmp_path):
    (tmp_path / "traces.toml").write_text('kind = "visits"\n')
    city = CitySettings.model_construct(name="real", visits="visits/*.csv", first_week=date(2007, 9, 10))
    source = Source(Settings.model_construct(city=city), Store(tmp_path / "home", "real"), city.first_week, tmp_path)
    with pytest.raises(BadInput, match="real people"):
        load_people(source)
    with pytest.raises(BadInput, match="synthetic city"):
        membership_audit.load(source)


def test_the_audit_finds_people_in_raw_counts_and_not_in_releases(tmp_path, monkeypatch):
    monkeypatch.setattr(membership_audit, "SAMPLES", 100)
    inputs = membership_audit.district(Settings(scheme=SchemeSettings(name="gpa")), date(2007, 9, 10))
    results = run(STUDIES["membership_audit"], inputs, tmp_path / "book", 2, lambda line: None)
    raw = results.filter(of="raw counts")
    assert raw["matched"].mean() > 0.9
    # six victims, a hundred groups each: three standard errors of the mean are 0.07
    assert membership_audit.mean_auc(results) < 0.66
    assert "| release | matched filter |" in membership_audit.summary(results)
    assert set(membership_audit.figures(inputs, results)) == {"audit"}


def test_the_audit_would_notice_missing_noise(tmp_path, monkeypatch):
    monkeypatch.setattr(membership_audit, "SAMPLES", 60)
    settings = Settings(
        privacy=PrivacySettings(epsilon=500.0, budget_epsilon=1000.0), scheme=SchemeSettings(name="gpa")
    )
    inputs = membership_audit.district(settings, date(2007, 9, 10))
    results = run(STUDIES["membership_audit"], inputs, tmp_path / "book", 1, lambda line: None)
    assert membership_audit.mean_auc(results) > 0.8


def test_kept_results_depend_on_the_promise(tmp_path):
    store, week = Store(tmp_path, "embedded"), date(2007, 9, 10)
    one, other = (Source(Settings(privacy=PrivacySettings(epsilon=e)), store, week) for e in (0.3, 1.0))
    audit, own = STUDIES["membership_audit"], STUDIES["epsilon_audit"]
    assert audit.identity(one) != audit.identity(other)
    assert own.identity(one) == own.identity(other)
