"""Studies of attacks and defenses on a tiny city: every figure and table is made, and gains pair the same victims."""

from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array

from density_assets.errors import BadInput
from density_assets.research.membership import defense_studies as defenses
from density_assets.research.membership import exposure as membership
from density_assets.research.membership.attack import ATTACKS
from density_assets.research.membership.defenses import DEFENSES, Groups
from density_assets.research.membership.people import GENERATED, AttackedPeople, choose_victims, load_people
from density_assets.research.membership.published_defenses import PUBLISHED
from density_assets.research.study import Source, conduct, run
from density_assets.research.traces.commuters import commuters
from density_assets.research.traces.matrix import Traces, binary
from density_assets.settings import Settings
from density_assets.settings.city import CitySettings
from resources.tables.store import Store


@pytest.fixture(scope="module")
def people() -> AttackedPeople:
    traces = commuters(60, 2, seed=1)
    sizes = {"known_group": 20, "past_groups": 20, "past_group": 30, "defended_group": 20, "samples": 40, "weeks": 2}
    return AttackedPeople(traces, GENERATED.model_copy(update=sizes), choose_victims(traces, 1))


def test_membership_makes_its_figures_and_table(people, tmp_path):
    results = run(membership.MEMBERSHIP, people, tmp_path / "book", 2, lambda line: None)
    assert len(results) == 3 * 2 * 3 * len(ATTACKS)  # priors, repetitions, victims
    assert results["auc"].is_between(0, 1).all()
    made = {"distributions", "components", "components_same_groups", "frequencies", "victims"}
    assert set(membership.plot_exposure(people, results)) == made
    table = membership.tabulate_exposure(results)
    assert all(f"| same groups | {how} |" in table for how in ATTACKS)
    means = dict(results.filter(prior="same_groups").group_by("attack").agg(pl.col("auc").mean()).iter_rows())
    line = next(line for line in table.splitlines() if "| same groups | features_pooled |" in line)
    assert line.endswith(f"| {means['pca'] / means['features_pooled'] - 1:+.0%} | 22 %, 16 % |")


def exposed_by(values: np.ndarray, prior: str, attack: str) -> pl.DataFrame:
    """Results in which the AUC of every victim follows one number about it."""
    auc = 0.5 + 0.5 * np.argsort(np.argsort(values)) / len(values)
    return pl.DataFrame({"prior": prior, "attack": attack, "victim": np.arange(len(values)), "auc": auc})


def test_tables_2_and_3_have_priors_and_periods_of_their_own(people):
    """Exposed are, by one prior, who is active in week 0 and, by the other, who moves most in week 1."""
    first, last = (np.diff(week.matrix.indptr) for week in people.weeks)
    by_first = exposed_by(first, "subset_of_locations", "features")
    with_last = membership.separating(people, pl.concat([by_first, exposed_by(last, "different_groups", "pca")]))
    with_first = membership.separating(people, pl.concat([by_first, exposed_by(first, "different_groups", "pca")]))
    importance, coefficient = with_last.values()
    assert importance == next(iter(with_first.values()))
    assert coefficient != list(with_first.values())[1]
    assert coefficient["total events"] < 0
    all_weeks = membership.characteristics(people.traces)
    assert coefficient == membership.coefficients(all_weeks, exposed_by(last, "", "")["auc"].to_numpy())
    assert list(membership.separating(people, by_first)) == [next(iter(with_last))]


def test_heat_maps_show_the_groups_of_their_prior(people):
    maps = [membership.loadings(people, prior, [3]) for prior in ("subset_of_locations", "same_groups")]
    assert [found.shape for found in maps] == [(100, 168)] * 2
    assert not np.allclose(*maps)
    assert max(found.max() for found in maps) <= 1.0 + 1e-4  # correlations


def test_gains_compare_each_victim_with_itself(people, tmp_path):
    chosen = ({"defense": "none", "level": 0}, {"defense": "SLP", "level": 0}, {"defense": "DGFR", "level": 5})
    study = replace(defenses.PRIVACY_GAIN, grid=chosen)
    results = run(study, people, tmp_path / "book", 2, lambda line: None)
    gains = defenses.gains(results)
    assert len(gains) == 2 * 2 * 3
    assert gains.filter(defense="DGFR")["auc"].to_list() == [0.5] * 6
    exposed = gains.filter(pl.col("defense") == "DGFR", pl.col("undefended") > 0.5)
    assert exposed["gain"].to_list() == [1.0] * len(exposed)
    assert set(defenses.plot_gain(people, results)) == {"gain", "planes"}
    assert "| DGFR | 250 | 0.500 |" in defenses.tabulate_gain(results)


@pytest.mark.parametrize(("sampling", "each", "both"), [("once", 1, 1), ("apart", 1, 0), ("anew", 0, 0)])
def test_points_are_sampled_once_for_all_that_is_seen_or_apart_or_anew(people, sampling, each, both):
    """Where points are sampled once, aggregates are sums of what each member leaves."""
    game = people.game("subset_of_locations", 3, np.random.default_rng(0), defended=True)
    point, rng = {"defense": "SMP", "level": 3}, np.random.default_rng(1)
    seeds = defenses.sampling_seeds(sampling, (0, 3))
    sides = [
        (seen.members.toarray(), defenses.release_defended(people, point, 0.8, seen, rng, seed)[0])
        for seen, seed in zip((game.training, game.challenge), seeds, strict=True)
    ]
    assert are_sums(*sides[0]) == each
    assert are_sums(*(np.concatenate(part) for part in zip(*sides, strict=True))) == both


def test_the_recipe_says_how_points_are_sampled(people):
    """Sampled once and for both sides nothing is hidden; anew in each aggregate most is, of few who move little."""
    point = {"defense": "SMP", "level": 3}
    found = {}
    for sampling in ("once", "apart", "anew"):
        these = replace(people, recipe=people.recipe.model_copy(update={"sampling": sampling, "samples": 120}))
        found[sampling] = np.mean([row["auc"] for seed in (0, 1) for row in defenses.measure_gain(these, point, seed)])
    assert found["once"] > found["apart"] > found["anew"]
    assert people.recipe.sampling == "apart"


def are_sums(members: np.ndarray, counts: np.ndarray) -> bool:
    """Whether counts are sums over members of some numbers that every member always has."""
    counts = counts.reshape(len(members), -1)
    per_user, *_ = np.linalg.lstsq(members.astype(float), counts, rcond=None)
    return bool(np.allclose(members @ per_user, counts, atol=1e-3))


def test_near_empty_places_decide_the_error_of_all_and_not_of_the_visited():
    true = np.full((20, 168), 10.0)
    true[:2] = 0
    true[:2, 5] = 6  # six visits a week; a seventh would be one a day
    shifted = defenses.utility(true, true + 5)
    assert shifted["mre_visited"] == pytest.approx(5 / 168)
    assert shifted["mre"] == pytest.approx((18 * 5 / 168 + 2 * (167 * 5 / 0.6 + 5 / 6) / 168) / 20)
    true[:2, 6] = 1
    assert defenses.utility(true, true + 5)["mre_visited"] == defenses.utility(true, true + 5)["mre"]


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
    table = defenses.tabulate_utility(results)
    assert "| MRE | MRE, ROIs with ≥ 1 visit a day | MRE 10% |" in table
    empty = results.filter(of="group")["near_empty"].mean()
    assert f"Near-empty in a group: {empty:.1f} of 100 ROIs." in table
    assert "0.011 / 0.012 / 0.931 / 0.329 / 0.04 / 0.922 |" in table
    group, everybody = (results.filter(defense="SMP", of=of)["r"].mean() for of in ("group", "everybody"))
    assert everybody > group  # larger counts suffer less from sampling


@pytest.mark.parametrize("kind", ["gps", "taps"])
def test_published_rows_are_those_of_every_parameter_tried_on_such_data(people, kind):
    mine = replace(people, recipe=people.recipe.model_copy(update={"kind": kind}))
    tried = [(p["defense"], defenses.parameter(mine, p)) for p in defenses.defense_grid() if p["defense"] in DEFENSES]
    assert set(PUBLISHED[kind][1]) == {(name, found[1]) for name, found in tried if found}


def test_taps_stand_beside_london_and_what_is_not_printed_is_a_dash(people, tmp_path):
    taps = replace(people, recipe=people.recipe.model_copy(update={"kind": "taps"}))
    chosen = tuple(point for point in defenses.DEFENSE_TABLES.grid if point["defense"] in ("SLP", "TG"))
    results = run(replace(defenses.DEFENSE_TABLES, grid=chosen), taps, tmp_path / "book", 1, lambda line: None)
    table = defenses.tabulate_utility(results)
    assert "| published (London) |" in table
    assert "0 / 0 / – / 1 / – / – |" in table
    assert "2.945 / 2.221 / 0.651 / 0.003 / 0.658 / 0 |" in table
    nobodys = results.with_columns(kind=pl.lit("visits"))
    assert "2.945 /" not in defenses.tabulate_utility(nobodys)


def test_neighbours_are_merged_only_where_it_is_known_who_they_are(people):
    nowhere = replace(people, traces=replace(people.traces, grid=None, placed=False))
    assert defenses.parameter(nowhere, {"defense": "SPG", "level": 0}) is None
    assert defenses.parameter(nowhere, {"defense": "TG", "level": 0}) == (4, "4 hours")
    assert "SPG is left out" in nowhere.described
    assert "SPG" not in people.described


def test_studies_attack_the_published_150_victims_and_repeat_utility_20_times():
    assert 3 * membership.MEMBERSHIP.repetitions == 3 * defenses.PRIVACY_GAIN.repetitions == 150
    assert defenses.DEFENSE_TABLES.repetitions == 20


def cab_files(folder: Path, cabs: int) -> None:
    """Text files as those of San Francisco: cab i passes i + 1 cells of the lowest row, one an hour, every Monday."""
    monday = int(datetime(2008, 5, 19, 7, tzinfo=UTC).timestamp())  # 00:00 in San Francisco
    for cab in range(cabs):
        points = ((monday + 3600 * (168 * week + cell), cell) for week in range(3) for cell in range(cab + 1))
        lines = [f"37.7401 {-122.4699 + 0.01 * cell:.4f} 0 {moment}" for moment, cell in points]
        (folder / f"new_c{cab}.txt").write_text("\n".join([*lines, "nothing", f"0 0 0 {monday}"]) + "\n")


def test_files_of_cabs_go_from_lines_to_a_confidential_summary(tmp_path):
    data = tmp_path / "cabs"
    data.mkdir()
    cab_files(data, 9)
    (data / "traces.toml").write_text("defended_group = 6\n")
    store = Store(tmp_path / "home", "embedded")
    source, said = Source(Settings(), store, date(2007, 9, 10), data), []
    chosen = tuple(point for point in defenses.DEFENSE_TABLES.grid if point["defense"] in ("SSC", "gpa"))
    outcome = conduct(replace(defenses.DEFENSE_TABLES, grid=chosen), source, 2, said.append)
    # cabs with 1 … 9 cells, each in three weeks: 5 ± 2.6 cells and 15 ± 7.7 slots
    read = (
        "9 users with 15 ± 8 events, 5.0 ± 2.6 of 100 ROIs and 15 ± 8 active slots of 504 hours. "
        "153 records read, 135 kept (users: 9). Left out: 9 outside the box, 9 unreadable. 504 hours: 3 weeks "
        "from 2008-05-19, on clocks of UTC-7. Box: latitude 37.74 to 37.82, longitude -122.47 to -122.37, a grid of "
        "10 x 10 (rows x columns)."
    )
    assert said[0] == read
    assert read in outcome.summary
    assert outcome.folder.is_relative_to(store.confidential)
    everybody = outcome.results.filter(of="everybody", defense="SSC", parameter="160")
    assert everybody["js"].unique().to_list() == [pytest.approx(0.589 * 9 / 168, abs=1e-3)]  # nine hours have anybody


def test_errors_of_constant_answers_are_those_from_which_the_definitions_were_read():
    """250 cabs of which 168.6 are active in a mean hour: one ROI for all errs 168.6/125 as much as ranges of 250."""
    rng = np.random.default_rng(3)
    active = np.argsort(rng.random((250, 168)), axis=1) < np.where(np.arange(250) < 75, 114, 113)[:, None]
    user, hour = np.nonzero(active)
    chances = 0.9 ** np.arange(100)
    roi = rng.choice(100, len(user), p=chances / chances.sum())
    week = Traces(binary(user, roi * 168 + hour, (250, 100 * 168)), np.arange(250), 168, np.zeros((100, 2)), (10, 10))
    groups = Groups(week, csr_array(np.ones((1, 250), dtype=np.int32)))
    one, ranges, nothing = (
        defenses.utility(groups.counts[0], DEFENSES[name].release(groups, value, GENERATED, rng)[0])
        for name, value in (("SPG", 1), ("DGFR", 250), ("SSC", 251))
    )
    assert week.matrix.sum() / 168 == pytest.approx(168.6, abs=0.1)
    assert one["mre"] / ranges["mre"] == pytest.approx(114.199 / 84.667, abs=0.01)
    assert nothing["mre_10"] == pytest.approx(0.059, abs=1e-3)
    assert nothing["js"] == pytest.approx(0.589, abs=1e-3)
    assert (nothing["f1"], ranges["f1"]) == (pytest.approx(0.1, abs=0.035), pytest.approx(0.1, abs=0.035))


def test_visits_of_real_people_are_refused(tmp_path):
    (tmp_path / "traces.toml").write_text('kind = "visits"\n')
    city = CitySettings.model_construct(name="real", visits="visits/*.csv", first_week=date(2007, 9, 10))
    source = Source(Settings.model_construct(city=city), Store(tmp_path / "home", "real"), city.first_week, tmp_path)
    with pytest.raises(BadInput, match="real people"):
        load_people(source)
